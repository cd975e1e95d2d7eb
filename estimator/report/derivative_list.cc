#include "estimator/report/derivative_list.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "estimator/core/error.h"
#include "estimator/report/table.h"
#include "models/decompositions/decomposition.h"
#include "models/gradients/gradient.h"
#include "models/operators/registry.h"

namespace dlcost {
namespace {

// By the worked examples: what the first output holds.
bool WritesReals(const OpDef& def) {
  if (def.cases.empty()) return true;
  for (const OpCase& example : def.cases) {
    std::string_view type = example.outputs;
    for (const std::string_view prefix : {"seq:", "opt:"}) {
      if (type.substr(0, prefix.size()) == prefix) type.remove_prefix(prefix.size());
    }
    const bool real = type.substr(0, 1) == "f" || type.substr(0, 2) == "bf" ||
                      type.substr(0, 1) == "c" || type.substr(0, 1) == "_";
    if (real) return true;
  }
  return false;
}

bool IsOfAStep(const OpDef& def) {
  return def.domain == "ai.onnx.preview.training" || def.domain == "dlcost.training" ||
         def.name.find("Grad") != std::string_view::npos ||
         def.name.find("Optimizer") != std::string_view::npos;
}

// Operators whose first output holds reals and that have no derivative all the same, and why.
constexpr std::string_view kUntrained = "none: reads nothing that is trained";
constexpr std::string_view kTokens = "none: chooses tokens";
constexpr std::string_view kCache = "none: one token of a text, with a cache";
constexpr std::string_view kForeign = "none: what it computes is not in the file";
constexpr std::string_view kDecodes = "none: counts, looks up or decodes";
constexpr std::string_view kQuantized = "none: products of quantized numbers, for inference";
constexpr std::string_view kFitted = "none: fitted, not trained by gradients";
constexpr std::string_view kAccumulates = "none: part of a step itself";
constexpr std::string_view kForest = "none: a forest, constant between its thresholds";
constexpr std::pair<std::string_view, std::string_view> kReasons[] = {
    {"Constant", kUntrained},
    {"ConstantOfShape", kUntrained},
    {"ConstantFill", kUntrained},
    {"Range", kUntrained},
    {"GivenTensorFill", kUntrained},
    {"BlackmanWindow", kUntrained},
    {"HammingWindow", kUntrained},
    {"HannWindow", kUntrained},
    {"MelWeightMatrix", kUntrained},
    {"BeamSearch", kTokens},
    {"GreedySearch", kTokens},
    {"Sampling", kTokens},
    {"WhisperBeamSearch", kTokens},
    {"NGramRepeatBlock", kTokens},
    {"DecoderMaskedMultiHeadAttention", kCache},
    {"DecoderMaskedSelfAttention", kCache},
    {"PagedAttention", kCache},
    {"SparsePagedAttention", kCache},
    {"ATen", kForeign},
    {"PythonOp", kForeign},
    {"EPContext", kForeign},
    {"Snpe", kForeign},
    {"TfIdfVectorizer", kDecodes},
    {"Unique", kDecodes},
    {"AudioDecoder", kDecodes},
    {"NegPos", kDecodes},
    {"DictVectorizer", kDecodes},
    {"CastMap", kDecodes},
    {"ZipMap", kDecodes},
    {"LabelEncoder", kDecodes},
    {"OneHotEncoder", kDecodes},
    {"Binarizer", kDecodes},
    {"Imputer", kDecodes},
    {"TensorScatter", kCache},
    {"DynamicQuantizeLSTM", kQuantized},
    {"DynamicQuantizeMatMul", kQuantized},
    {"MatMulIntegerToFloat", kQuantized},
    {"QAttention", kQuantized},
    {"QEmbedLayerNormalization", kQuantized},
    {"QGemm", kQuantized},
    {"QMoE", kQuantized},
    {"DequantizeBFP", kQuantized},
    {"DequantizeWithOrder", kQuantized},
    {"ArrayFeatureExtractor", kFitted},
    {"FeatureVectorizer", kFitted},
    {"LinearRegressor", kFitted},
    {"Normalizer", kFitted},
    {"SVMRegressor", kFitted},
    {"Scaler", kFitted},
    {"InPlaceAccumulator", kAccumulates},
    {"LSTMTraining", kAccumulates},
    {"ConcatTraining", kAccumulates},
    {"SplitTraining", kAccumulates},
    {"GRUTraining", kAccumulates},
    {"TreeEnsemble", kForest},
    {"TreeEnsembleRegressor", kForest},
};

// Layouts that ONNX Runtime writes for its own inference, behind whatever was exported.
bool IsRuntimeLayout(std::string_view domain) {
  return domain == "com.microsoft.nchwc" || domain == "com.ms.internal.nhwc";
}

}  // namespace

std::string_view DerivativeOf(const OpDef& def) {
  if (const GradientDef* rule = FindGradient(def.domain, def.name)) {
    return rule->write == nullptr ? "zero wherever there is one" : "a rule";
  }
  if (FindDecomposition(def.domain, def.name) != nullptr) return "rules of what it consists of";
  if (def.name == "GroupQueryAttention") return "a rule, as Attention in training";
  if (def.name == "BatchNormalization") return "a rule, as BatchNormInternal in training";
  if (def.name == "RMSNormalization") return "a rule, as SimplifiedLayerNormalization in training";
  if (def.name == "MoE") return "rules, as DispatchTokens and CombineTokens in training";
  if (IsOfAStep(def)) return "none: part of a step itself";
  for (const auto& [name, why] : kReasons) {
    if (name == def.name) return why;
  }
  switch (def.control) {
    case ControlFlow::kIf:
    case ControlFlow::kLoop:
    case ControlFlow::kScan:
      return "those of the graphs inside";
    case ControlFlow::kNone:
      break;
    default:
      return "not written: bodies of control flow";
  }
  if (def.random) return "none: draws numbers";
  if (!WritesReals(def)) return "none: writes no reals";
  if (IsRuntimeLayout(def.domain)) return "none: a layout of a runtime for inference";
  return "not written";
}

std::string DerivativeListText(const std::string& domain) {
  std::map<std::pair<std::string, std::string>, std::string_view> operators;
  for (const std::span<const OpDef> family : OperatorFamilies()) {
    for (const OpDef& def : family) {
      const std::string own = def.domain.empty() ? "ai.onnx" : std::string(def.domain);
      if (!domain.empty() && domain != own) continue;
      operators.emplace(std::pair(own, std::string(def.name)), DerivativeOf(def));
    }
  }
  if (operators.empty()) throw Error("no operators of domain '{}'", Printable(domain));
  Table table({"domain", "operator", "derivative"}, {true, true, true});
  std::map<std::string_view, int> totals;
  for (const auto& [key, derivative] : operators) {
    table.Add({key.first, key.second, std::string(derivative)});
    ++totals[derivative];
  }
  std::string text = table.Render() + "\n";
  for (const auto& [derivative, count] : totals)
    text += fmt::format("{:>4}  {}\n", count, derivative);
  return text;
}

}  // namespace dlcost
