#include "models/networks/layers.h"

#include <cmath>
#include <limits>

#include "estimator/core/error.h"

namespace dlcost::networks {

Value Conv(Builder& b, const std::string& name, const Value& x, const ConvSpec& spec) {
  const Builder::Scope scope = b.In(name);
  std::vector<Value> inputs = {
      x, b.Weight("weight", {spec.out, spec.in / spec.group, spec.kernel, spec.kernel})};
  if (spec.bias) inputs.push_back(b.Weight("bias", {spec.out}));
  using Ints = std::vector<std::int64_t>;
  return b.Node("Conv", inputs,
                {{"dilations", Ints{1, 1}},
                 {"group", spec.group},
                 {"kernel_shape", Ints{spec.kernel, spec.kernel}},
                 {"pads", Ints{spec.pad, spec.pad, spec.pad, spec.pad}},
                 {"strides", Ints{spec.stride, spec.stride}}});
}

Value BatchNorm(Builder& b, const std::string& name, const Value& x, std::int64_t channels) {
  const Builder::Scope scope = b.In(name);
  return b.Node("BatchNormalization",
                {x, b.Weight("weight", {channels}), b.Weight("bias", {channels}),
                 b.Weight("running_mean", {channels}), b.Weight("running_var", {channels})},
                {{"epsilon", 1e-5f}});
}

Value ConvNorm(Builder& b, const std::string& conv, const std::string& norm, const Value& x,
               ConvSpec spec, bool folded) {
  spec.bias = folded;
  const Value y = Conv(b, conv, x, spec);
  return folded ? y : BatchNorm(b, norm, y, spec.out);
}

Value MaxPool(Builder& b, const Value& x, std::int64_t kernel, std::int64_t stride,
              std::int64_t pad) {
  using Ints = std::vector<std::int64_t>;
  return b.Node("MaxPool", {x},
                {{"kernel_shape", Ints{kernel, kernel}},
                 {"pads", Ints{pad, pad, pad, pad}},
                 {"strides", Ints{stride, stride}}});
}

Value Relu(Builder& b, const Value& x) { return b.Node("Relu", {x}); }

Value Affine(Builder& b, const std::string& name, const Value& x, std::int64_t in,
             std::int64_t out) {
  const Builder::Scope scope = b.In(name);
  return b.Node("Gemm", {x, b.Weight("weight", {out, in}), b.Weight("bias", {out})},
                {{"transB", 1}});
}

Value Linear(Builder& b, const std::string& name, const Value& x, std::int64_t in, std::int64_t out,
             bool bias) {
  const Builder::Scope scope = b.In(name);
  const Value product = b.Node("MatMul", {x, b.Weight("weight", {in, out})});
  return bias ? b.Node("Add", {product, b.Weight("bias", {out})}) : product;
}

Value TiedProjection(Builder& b, const Value& x, const Value& table, std::int64_t rows,
                     std::int64_t width, const Value& ids) {
  const Value flat = b.Node("Reshape", {x, b.Ints({-1, width})});
  const Value product = b.Node("Gemm", {flat, table}, {{"transB", 1}});
  const Value positions = b.Node("Shape", {ids});
  const Value shape = b.Node("Concat", {positions, b.Ints({rows})}, {{"axis", 0}});
  return b.Node("Reshape", {product, shape});
}

Value LayerNorm(Builder& b, const std::string& name, const Value& x, std::int64_t width) {
  const Builder::Scope scope = b.In(name);
  return b.Node("LayerNormalization", {x, b.Weight("weight", {width}), b.Weight("bias", {width})},
                {{"axis", -1}, {"epsilon", 1e-5f}});
}

Value RmsNorm(Builder& b, const std::string& name, const Value& x, std::int64_t width) {
  const Builder::Scope scope = b.In(name);
  return b.Node("RMSNormalization", {x, b.Weight("weight", {width})},
                {{"axis", -1}, {"epsilon", 1e-5f}});
}

Value Activate(Builder& b, const Value& x, const std::string& activation) {
  if (activation == "silu") return b.Node("Mul", {x, b.Node("Sigmoid", {x})});
  if (activation == "gelu") return b.Node("Gelu", {x});
  if (activation == "gelu_tanh") return b.Node("Gelu", {x}, {{"approximate", "tanh"}});
  if (activation == "relu") return Relu(b, x);
  throw Error("no activation '{}'", activation);
}

Value SplitHeads(Builder& b, const Value& x, const AttentionSpec& spec) {
  if (spec.width % spec.heads != 0) {
    throw Error("a width of {} does not split into {} heads", spec.width, spec.heads);
  }
  // In a Reshape, 0 keeps the input's dimension: batch and sequence need no shape arithmetic.
  const Value split = b.Node("Reshape", {x, b.Ints({0, 0, spec.heads, spec.width / spec.heads})});
  return b.Node("Transpose", {split}, {{"perm", std::vector<std::int64_t>{0, 2, 1, 3}}});
}

Value Dropout(Builder& b, const Value& x) {
  constexpr float kRatio = 0.1f;
  return b.Node("Dropout", {x, b.Scalar(kRatio)});
}

Value AttendHeads(Builder& b, const Value& q, const Value& k, const Value& v, const Value& mask,
                  const AttentionSpec& spec) {
  using Ints = std::vector<std::int64_t>;
  const Value keys = b.Node("Transpose", {k}, {{"perm", Ints{0, 1, 3, 2}}});
  Value scores = b.Node("MatMul", {q, keys});
  if (spec.scaled) {
    const auto head_width = static_cast<float>(spec.width) / static_cast<float>(spec.heads);
    scores = b.Node("Mul", {scores, b.Scalar(1.0f / std::sqrt(head_width))});
  }
  if (!mask.empty()) scores = b.Node("Add", {scores, mask});
  Value weights = b.Node("Softmax", {scores}, {{"axis", -1}});
  if (spec.dropout) weights = Dropout(b, weights);
  const Value context = b.Node("MatMul", {weights, v});
  const Value merged = b.Node("Transpose", {context}, {{"perm", Ints{0, 2, 1, 3}}});
  return b.Node("Reshape", {merged, b.Ints({0, 0, spec.width})});
}

Value MultiHeadAttention(Builder& b, const Value& query, const Value& memory, const Value& mask,
                         const AttentionSpec& spec) {
  const auto project = [&](const std::string& name, const Value& x) {
    return Linear(b, name, x, spec.width, spec.width, spec.bias);
  };
  const Value q = SplitHeads(b, project("q", query), spec);
  const Value k = SplitHeads(b, project("k", memory), spec);
  const Value v = SplitHeads(b, project("v", memory), spec);
  return project("out", AttendHeads(b, q, k, v, mask, spec));
}

Value CausalMask(Builder& b, const Value& ids) {
  const Value length = b.Node("Shape", {ids}, {{"start", 1}, {"end", 2}});
  const Value square = b.Node("Concat", {length, length}, {{"axis", 0}});
  const Value lowest = b.Fill(square, Lowest(b.dtype()));
  return b.Node("Trilu", {lowest, b.Int(1)}, {{"upper", 1}});
}

Value PaddingMask(Builder& b, const Value& attention_mask) {
  const Value mask = b.Node("Unsqueeze", {attention_mask, b.Ints({1, 2})});
  const Value keep = b.Node("Cast", {mask}, {{"to", Builder::OnnxType(b.dtype())}});
  const Value drop = b.Node("Sub", {b.Scalar(1.0f), keep});
  return b.Node("Mul", {drop, b.Scalar(Lowest(b.dtype()))});
}

Value FirstPositions(Builder& b, const Value& table, const Value& ids) {
  const Value length = b.Node("Shape", {ids}, {{"start", 1}, {"end", 2}});
  return b.Node("Slice", {table, b.Ints({0}), length, b.Ints({0})});
}

float Lowest(DType dtype) {
  if (dtype == DType::kFloat16) return -65504.0f;
  // The lowest f32 whose lower 16 bits are zero is also the lowest bf16.
  if (dtype == DType::kBfloat16) return -3.38953139e38f;
  return std::numeric_limits<float>::lowest();
}

}  // namespace dlcost::networks
