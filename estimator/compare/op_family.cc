#include "estimator/compare/op_family.h"

#include <span>

#include "estimator/profiles/text.h"

namespace dlcost {
namespace {

using enum KernelFamily;

struct Rule {
  std::string_view part;  // occurs in the name, lower case
  KernelFamily family;
};

// ONNX operators; the first that occurs counts.
constexpr Rule kOnnx[] = {
    {"pool", kPooling},
    {"conv", kConvolution},
    {"attention", kAttention},
    {"gemm", kGemm},
    {"matmul", kGemm},
    {"einsum", kGemm},
    {"lstm", kRecurrent},
    {"gru", kRecurrent},
    {"rnn", kRecurrent},
    {"softmax", kSoftmax},
    {"normalization", kNormalization},
    {"lrn", kNormalization},
    {"layernorm", kNormalization},
    {"dropout", kDropout},
    {"quantize", kQuantize},
    {"random", kRandom},
    {"bernoulli", kRandom},
    {"gather", kEmbedding},
    {"scatter", kEmbedding},
    {"embed", kEmbedding},
    {"argm", kReduction},
    {"reduce", kReduction},
    {"topk", kReduction},
    {"cumsum", kReduction},
    {"transpose", kLayout},
    {"concat", kLayout},
    {"slice", kLayout},
    {"split", kLayout},
    {"pad", kLayout},
    {"tile", kLayout},
    {"expand", kLayout},
    {"depthtospace", kLayout},
    {"spacetodepth", kLayout},
    {"reorder", kLayout},
};

// Calls of PyTorch and TensorFlow.
constexpr Rule kCalls[] = {
    {"pool", kPooling},      {"conv", kConvolution},    {"attention", kAttention},
    {"linear", kGemm},       {"addmm", kGemm},          {"matmul", kGemm},
    {"bmm", kGemm},          {"aten::mm", kGemm},       {"einsum", kGemm},
    {"gemm", kGemm},         {"lstm", kRecurrent},      {"gru", kRecurrent},
    {"softmax", kSoftmax},   {"norm", kNormalization},  {"dropout", kDropout},
    {"quantize", kQuantize}, {"rand", kRandom},         {"uniform_", kRandom},
    {"normal_", kRandom},    {"zero", kFill},           {"fill", kFill},
    {"ones", kFill},         {"embedding", kEmbedding}, {"index", kEmbedding},
    {"gather", kEmbedding},  {"scatter", kEmbedding},   {"sum", kReduction},
    {"mean", kReduction},    {"argm", kReduction},      {"copy_", kLayout},
    {"aten::to", kLayout},   {"contiguous", kLayout},   {"clone", kLayout},
    {"cat", kLayout},        {"transpose", kLayout},    {"permute", kLayout},
    {"pad", kLayout},        {"relu", kElementwise},    {"clamp", kElementwise},
    {"gelu", kElementwise},  {"sigmoid", kElementwise}, {"tanh", kElementwise},
    {"silu", kElementwise},  {"add", kElementwise},     {"mul", kElementwise},
    {"sub", kElementwise},   {"div", kElementwise},     {"biasadd", kElementwise},
    {"exp", kElementwise},   {"pow", kElementwise},     {"sqrt", kElementwise},
};

KernelFamily Find(std::span<const Rule> rules, std::string_view name, KernelFamily otherwise) {
  const std::string lower = Lower(name);
  for (const Rule& rule : rules) {
    if (Contains(lower, rule.part)) return rule.family;
  }
  return otherwise;
}

}  // namespace

KernelFamily FamilyOfOnnxOp(std::string_view op) { return Find(kOnnx, op, kElementwise); }

KernelFamily FamilyOfCall(std::string_view call) { return Find(kCalls, call, kUnknown); }

}  // namespace dlcost
