#include "estimator/precision/autocast_rules.h"

#include <map>
#include <utility>

#include "models/gradients/writer.h"

namespace dlcost {
namespace {

constexpr AutocastRule kRules[] = {
    // __matmul__, addbmm, addmm, addmv, addr, baddbmm, bmm, chain_matmul, conv*, GRUCell, linear,
    // LSTMCell, matmul, mv, prelu, RNNCell, scaled_dot_product_attention.
    {"Conv", "", CastRule::kHalf},
    {"ConvTranspose", "", CastRule::kHalf},
    {"MatMul", "", CastRule::kHalf},
    {"Gemm", "", CastRule::kHalf},
    {"Einsum", "", CastRule::kHalf},
    {"LSTM", "", CastRule::kHalf},
    {"GRU", "", CastRule::kHalf},
    {"RNN", "", CastRule::kHalf},
    {"PRelu", "", CastRule::kHalf},
    {"Attention", "", CastRule::kHalf},
    {"FusedAttention", "dlcost.training", CastRule::kHalf},
    {"FusedMatMul", kMicrosoft, CastRule::kHalf},
    {"TransposeMatMul", kMicrosoft, CastRule::kHalf},
    {"FusedGemm", kMicrosoft, CastRule::kHalf},
    {"FusedConv", kMicrosoft, CastRule::kHalf},
    {"Attention", kMicrosoft, CastRule::kHalf},
    {"MultiHeadAttention", kMicrosoft, CastRule::kHalf},
    {"GroupQueryAttention", kMicrosoft, CastRule::kHalf},
    {"DecoderMaskedMultiHeadAttention", kMicrosoft, CastRule::kHalf},
    // acos, asin, cosh, cross_entropy, cumsum, exp, group_norm, layer_norm, log, log_softmax,
    // nll_loss, norm, normalize, pow, prod, reciprocal, sinh, softmax, softplus, sum, tan. A root
    // mean square normalization is written with pow and rsqrt. Those whose result's type is an
    // argument get float32 for it and convert as they read: a softmax float16 alone, sums, products
    // and norms either (PyTorch, aten/src/ATen/autocast_mode.h: fp32_set_opt_dtype;
    // native/SoftMax.cpp, native/cuda/ReduceSumProdKernel.cu and ReduceNormKernel.cu).
    {"Acos", "", CastRule::kFull},
    {"Asin", "", CastRule::kFull},
    {"Cosh", "", CastRule::kFull},
    {"CumSum", "", CastRule::kFull},
    {"Exp", "", CastRule::kFull},
    {"GroupNormInternal", "dlcost.training", CastRule::kFull},
    {"GroupNormalization", "", CastRule::kFull},
    {"LayerNormalization", "", CastRule::kFull},
    {"Log", "", CastRule::kFull},
    {"LogSoftmax", "", CastRule::kFull, Reads::kFloat16},
    {"LpNormalization", "", CastRule::kFull},
    {"NegativeLogLikelihoodLoss", "", CastRule::kFull},
    {"Pow", "", CastRule::kFull},
    {"RMSNormalization", "", CastRule::kFull},
    {"Reciprocal", "", CastRule::kFull},
    {"ReduceL1", "", CastRule::kFull, Reads::kHalves},
    {"ReduceL2", "", CastRule::kFull, Reads::kHalves},
    {"ReduceProd", "", CastRule::kFull, Reads::kHalves},
    {"ReduceSum", "", CastRule::kFull, Reads::kHalves},
    {"SimplifiedLayerNormalization", "", CastRule::kFull},
    {"Sinh", "", CastRule::kFull},
    {"Softmax", "", CastRule::kFull, Reads::kFloat16},
    {"SoftmaxCrossEntropyLoss", "", CastRule::kFull},
    {"Softplus", "", CastRule::kFull},
    {"Tan", "", CastRule::kFull},
    {"GroupNorm", kMicrosoft, CastRule::kFull},
    {"SkipGroupNorm", kMicrosoft, CastRule::kFull},
    {"SkipLayerNormalization", kMicrosoft, CastRule::kFull},
    {"SkipSimplifiedLayerNormalization", kMicrosoft, CastRule::kFull},
    {"EmbedLayerNormalization", kMicrosoft, CastRule::kFull},
    // Statistics and affine parameters of batch normalization stay in float32 beside half data; so
    // do ratios and scale factors.
    {"BatchNormalization", "", CastRule::kOwn},
    {"Dropout", "", CastRule::kOwn},
    {"Resize", "", CastRule::kOwn},
    {"Upsample", "", CastRule::kOwn},
    // By their specification.
    {"DynamicQuantizeLinear", "", CastRule::kFloat32},
    {"NonMaxSuppression", "", CastRule::kFloat32},
};

using Key = std::pair<std::string_view, std::string_view>;

const AutocastRule* RuleOf(std::string_view domain, std::string_view op) {
  static const std::map<Key, const AutocastRule*> kIndex = [] {
    std::map<Key, const AutocastRule*> index;
    for (const AutocastRule& rule : kRules) index.emplace(Key(rule.domain, rule.op), &rule);
    return index;
  }();
  const auto found = kIndex.find({domain, op});
  return found == kIndex.end() ? nullptr : found->second;
}

}  // namespace

std::span<const AutocastRule> AutocastRules() { return kRules; }

CastRule AutocastRuleOf(std::string_view domain, std::string_view op) {
  const AutocastRule* rule = RuleOf(domain, op);
  return rule == nullptr ? CastRule::kWidest : rule->rule;
}

bool ReadsAsItIs(std::string_view domain, std::string_view op, DType type) {
  const AutocastRule* rule = RuleOf(domain, op);
  if (rule == nullptr || rule->reads == Reads::kFull) return false;
  return type == DType::kFloat16 || (type == DType::kBfloat16 && rule->reads == Reads::kHalves);
}

}  // namespace dlcost
