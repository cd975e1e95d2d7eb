#include "models/decompositions/decomposition.h"

namespace dlcost {
namespace {

// Other names of operators of the standard domain, with the same inputs and attributes.

template <typename Table>
std::string_view Standard(const Table& table, const Node& node) {
  for (const auto& [name, standard] : table) {
    if (name == node.op) return standard;
  }
  throw Unresolved("it has no standard name");
}

struct Name {
  std::string_view name, standard;
};

constexpr Name kNames[] = {
    {"ExpandDims", "Unsqueeze"},
    {"GatherND", "GatherND"},
    {"Pad", "Pad"},
    {"ReduceSumTraining", "ReduceSum"},
    {"DequantizeLinear", "DequantizeLinear"},
    {"Trilu", "Trilu"},
    {"DynamicSlice", "Slice"},
    {"Scatter", "ScatterElements"},
    {"SimplifiedLayerNormalization", "SimplifiedLayerNormalization"},
};

void WriteStandard(FusedNode& f) {
  f.Set(0, f.w().Node1(Standard(kNames, f.node()), f.node().inputs, f.AttributesWithout()));
}

// weight, indices, padding_idx, scale_grad_by_freq: rows, all of which train alike here.
void WriteTableRows(FusedNode& f) { f.Set(0, f.w().Node1("Gather", {f.X(0), f.X(1)})); }

constexpr Decomposition kAliasDecompositions[] = {
    {"Scatter", WriteStandard},
    {"DynamicSlice", WriteStandard},
    {"ExpandDims", WriteStandard, kMicrosoft},
    {"GatherND", WriteStandard, kMicrosoft},
    {"DequantizeLinear", WriteStandard, kMicrosoft},
    {"Pad", WriteStandard, kMicrosoft},
    {"ReduceSumTraining", WriteStandard, kMicrosoft},
    {"Trilu", WriteStandard, kMicrosoft},
    {"SimplifiedLayerNormalization", WriteStandard, kMicrosoft},
    {"TorchEmbedding", WriteTableRows, kMicrosoft},
};

}  // namespace

std::span<const Decomposition> AliasDecompositions() { return kAliasDecompositions; }

}  // namespace dlcost
