#include "models/operators/registry.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "models/operators/families.h"
#include "models/operators/fused_attention.h"
#include "models/operators/recurrent.h"
#include "models/operators/sampling_gradient.h"
#include "models/operators/sparse_update.h"

namespace dlcost {
namespace {

struct Key {
  Key(std::string_view of_domain, std::string_view of_name)
      : domain(of_domain == "ai.onnx" ? std::string_view() : of_domain), name(of_name) {}
  bool operator==(const Key&) const = default;

  std::string_view domain, name;
};

struct HashOfKey {
  std::size_t operator()(const Key& key) const {
    // Asked for many times per node: of the operators that there are, these tell most apart.
    const std::size_t size = key.name.size();
    if (size == 0) return 0;
    std::size_t hash = size + 131 * key.domain.size();
    for (const std::size_t at : {std::size_t{0}, size / 3, size / 2, 2 * size / 3, size - 1}) {
      hash = 31 * hash + static_cast<unsigned char>(key.name[at]);
    }
    return hash;
  }
};

using OperatorIndex = std::unordered_map<Key, const OpDef*, HashOfKey>;

const OperatorIndex& RegistryIndex() {
  static const auto* index = [] {
    auto* map = new OperatorIndex();
    for (const std::span<const OpDef> family : OperatorFamilies()) {
      for (const OpDef& def : family) map->emplace(Key(def.domain, def.name), &def);
    }
    return map;
  }();
  return *index;
}

}  // namespace

std::span<const std::span<const OpDef>> OperatorFamilies() {
  static const std::vector<std::span<const OpDef>> families = {
      // Neural networks.
      ConvolutionOps(),
      DeformableOps(),
      MatMulOps(),
      EinsumOps(),
      PoolingOps(),
      NormalizationOps(),
      LayerNormOps(),
      SoftmaxOps(),
      RecurrentOps(),
      AttentionOps(),
      LinearAttentionOps(),
      QuantizationOps(),
      TrainingOps(),
      MuonOps(),
      GradientKernelOps(),
      CollectiveOps(),
      ExpertOps(),
      RecurrentGradientOps(),
      FusedAttentionOps(),
      SparseUpdateOps(),
      SamplingGradientOps(),
      // Tensors.
      ElementwiseUnaryOps(),
      ElementwiseBinaryOps(),
      PowerOps(),
      LogicOps(),
      VariadicOps(),
      SelectOps(),
      CastOps(),
      ActivationTableOps(),
      ActivationOps(),
      CumulativeOps(),
      ReductionOps(),
      TopKOps(),
      ViewOps(),
      ConstantOps(),
      ConcatOps(),
      SliceOps(),
      PadOps(),
      RepeatOps(),
      TransposeOps(),
      GatherOps(),
      ScatterOps(),
      ResizeOps(),
      DynamicOps(),
      SamplingOps(),
      SequenceOps(),
      OptionalOps(),
      ControlOps(),
      RandomOps(),
      SignalOps(),
      TextOps(),
      LegacyTableOps(),
      LegacyOps(),
      OpaqueOps(),
      // Classical machine learning.
      MlFeatureOps(),
      MlLinearOps(),
      MlTreeOps(),
      // ONNX Runtime's own domains.
      ContribAttentionOps(),
      ContribSelfAttentionOps(),
      ContribGroupedAttentionOps(),
      ContribLongAttentionOps(),
      ContribLinearAttentionOps(),
      ContribNormalizationOps(),
      ContribActivationOps(),
      ContribMatMulOps(),
      ContribBlockwiseOps(),
      ContribConvOps(),
      ContribQuantizedMatMulOps(),
      ContribQLinearOps(),
      ContribMoeOps(),
      ContribPositionOps(),
      ContribGenerationOps(),
      ContribMiscOps(),
      ContribNumericOps(),
      ContribGradientOps(),
      ContribConvGradientOps(),
      ContribOrderedOps(),
      ContribBlockFloatOps(),
      ContribTextOps(),
      ContribSparseIndexerOps(),
      ContribAttentionLstmOps(),
      ContribOptimizerOps(),
      ContribScatterGradientOps(),
      ContribNhwcOps(),
      ContribAliasOps(),
      ExtensionOps(),
  };
  return families;
}

const OpDef* FindOperator(std::string_view domain, std::string_view name) {
  const auto found = RegistryIndex().find(Key(domain, name));
  return found == RegistryIndex().end() ? nullptr : found->second;
}

int SinceVersion(const OpDef& def, int opset) {
  int since = *def.since.begin();
  for (const int version : def.since) {
    if (version <= opset) since = version;
  }
  return since;
}

std::vector<std::string> OperatorNames(std::string_view domain) {
  std::vector<std::string> names;
  for (const std::span<const OpDef> family : OperatorFamilies()) {
    for (const OpDef& def : family) {
      if (def.domain == domain) names.emplace_back(def.name);
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace dlcost
