#include "estimator/compare/op_family.h"

#include <algorithm>
#include <array>
#include <span>

#include "estimator/profiles/text.h"
#include "models/operators/families.h"
#include "models/operators/registry.h"

namespace dlcost {
namespace {

using enum KernelFamily;

struct Rule {
  std::string_view part;  // occurs in the name, lower case
  KernelFamily family;
};

// Calls of PyTorch and TensorFlow, primitives of oneDNN; the first that occurs counts.
constexpr Rule kCalls[] = {
    {"reorder", kLayout},      {"inner_product", kGemm},  {"eltwise", kElementwise},
    {"binary", kElementwise},  {"rnn", kRecurrent},       {"pool", kPooling},
    {"conv", kConvolution},    {"attention", kAttention}, {"linear", kGemm},
    {"addmm", kGemm},          {"matmul", kGemm},         {"bmm", kGemm},
    {"aten::mm", kGemm},       {"einsum", kGemm},         {"gemm", kGemm},
    {"lstm", kRecurrent},      {"gru", kRecurrent},       {"softmax", kSoftmax},
    {"norm", kNormalization},  {"dropout", kDropout},     {"quantize", kQuantize},
    {"rand", kRandom},         {"uniform_", kRandom},     {"normal_", kRandom},
    {"zero", kFill},           {"fill", kFill},           {"ones", kFill},
    {"embedding", kEmbedding}, {"index", kEmbedding},     {"gather", kEmbedding},
    {"scatter", kEmbedding},   {"sum", kReduction},       {"mean", kReduction},
    {"argm", kReduction},      {"copy_", kLayout},        {"aten::to", kLayout},
    {"contiguous", kLayout},   {"clone", kLayout},        {"cat", kLayout},
    {"transpose", kLayout},    {"permute", kLayout},      {"pad", kLayout},
    {"relu", kElementwise},    {"clamp", kElementwise},   {"gelu", kElementwise},
    {"sigmoid", kElementwise}, {"tanh", kElementwise},    {"silu", kElementwise},
    {"add", kElementwise},     {"mul", kElementwise},     {"sub", kElementwise},
    {"div", kElementwise},     {"biasadd", kElementwise}, {"exp", kElementwise},
    {"pow", kElementwise},     {"sqrt", kElementwise},
};

// What layers are called in tables that people write; the beginning of the first word counts.
constexpr Rule kLabels[] = {
    {"conv", kConvolution},
    {"affine", kGemm},
    {"fc", kGemm},
    {"fully", kGemm},
    {"dense", kGemm},
    {"linear", kGemm},
    {"inner", kGemm},
    {"gemm", kGemm},
    {"matmul", kGemm},
    {"maxpool", kPooling},
    {"avgpool", kPooling},
    {"pool", kPooling},
    {"lstm", kRecurrent},
    {"gru", kRecurrent},
    {"rnn", kRecurrent},
    {"attention", kAttention},
    {"softmax", kSoftmax},
    {"relu", kElementwise},
    {"gelu", kElementwise},
    {"bn", kNormalization},
    {"batchnorm", kNormalization},
    {"layernorm", kNormalization},
    {"lrn", kNormalization},
    {"embedding", kEmbedding},
};

// The files of operator definitions whose operators run as one family of kernels.
KernelFamily FamilyOfDefinition(const OpDef& def) {
  struct Defined {
    std::span<const OpDef> (*operators)();
    KernelFamily family;
  };
  static constexpr Defined kDefined[] = {
      {PoolingOps, kPooling},
      {NormalizationOps, kNormalization},
      {LayerNormOps, kNormalization},
      {ContribNormalizationOps, kNormalization},
      {SoftmaxOps, kSoftmax},
      {QuantizationOps, kQuantize},
      {RandomOps, kRandom},
      {GatherOps, kEmbedding},
      {ScatterOps, kEmbedding},
      {ReductionOps, kReduction},
      {TopKOps, kReduction},
      {CumulativeOps, kReduction},
      {ConvolutionOps, kConvolution},
      {DeformableOps, kConvolution},
      {ContribConvOps, kConvolution},
      {MatMulOps, kGemm},
      {EinsumOps, kGemm},
      {ContribMatMulOps, kGemm},
      {RecurrentOps, kRecurrent},
      {AttentionOps, kAttention},
      {ContribAttentionOps, kAttention},
  };
  for (const Defined& defined : kDefined) {
    const std::span<const OpDef> operators = defined.operators();
    const bool holds = std::any_of(operators.begin(), operators.end(), [&](const OpDef& other) {
      return other.name == def.name && other.domain == def.domain;
    });
    if (holds) return defined.family;
  }
  switch (def.role) {
    case FusionRole::kMovement:
    case FusionRole::kView:
      return kLayout;
    case FusionRole::kReduction:
      return kReduction;
    case FusionRole::kNormalization:
      return kNormalization;
    default:
      return kElementwise;
  }
}

KernelFamily Find(std::span<const Rule> rules, std::string_view name) {
  const std::string lower = Lower(name);
  for (const Rule& rule : rules) {
    if (Contains(lower, rule.part)) return rule.family;
  }
  return kUnknown;
}

}  // namespace

KernelFamily FamilyOf(const Report& report, const KernelRow& kernel) {
  if (std::holds_alternative<ConvNest>(kernel.nest)) return kConvolution;
  if (std::holds_alternative<AttentionNest>(kernel.nest)) return kAttention;
  if (std::holds_alternative<RecurrentNest>(kernel.nest)) return kRecurrent;
  if (std::holds_alternative<GemmNest>(kernel.nest)) return kGemm;
  const OpDef* def = FindOperator(report.nodes[kernel.main].domain, kernel.op);
  return def ? FamilyOfDefinition(*def) : kElementwise;
}

KernelFamily FamilyOfCall(std::string_view call) { return Find(kCalls, call); }

KernelFamily FamilyOfLabel(std::string_view label) {
  std::string word;
  for (const char c : Lower(Trim(label))) {
    const bool letter = c >= 'a' && c <= 'z';
    if (!letter && !word.empty() && c != '_' && c != ' ') break;
    if (letter) word += c;
    if (c == ' ' && word != "max" && word != "avg" && word != "average") break;
  }
  if (word.starts_with("average")) word = "avg" + word.substr(7);
  for (const Rule& rule : kLabels) {
    if (std::string_view(word).starts_with(rule.part)) return rule.family;
  }
  return kUnknown;
}

bool IsProduct(KernelFamily family) {
  return family == kConvolution || family == kGemm || family == kAttention || family == kRecurrent;
}

}  // namespace dlcost
