#include <cmath>

#include "models/networks/t5.h"

namespace dlcost::networks {
namespace {

// How far each key lies behind each query, [queries, keys]; negative before it.
Value RelativePositions(Builder& b, const Value& queries, const Value& keys) {
  const auto scalar = [&](const Value& size) { return b.Node("Squeeze", {size, b.Ints({0})}); };
  const Value last = scalar(keys);
  const Value first = b.Node("Sub", {last, scalar(queries)});
  const Value rows = b.Node("Range", {first, last, b.Int(1)});
  const Value columns = b.Node("Range", {b.Int(0), last, b.Int(1)});
  return b.Node("Sub", {b.Node("Unsqueeze", {columns, b.Ints({0})}),
                        b.Node("Unsqueeze", {rows, b.Ints({1})})});
}

// Distances to numbers below `buckets`: the lower half of them for themselves, the others in steps
// that grow with the logarithm. In the network's type, whose roundings fall into the last bucket.
Value Buckets(Builder& b, const Value& distances, std::int64_t buckets, std::int64_t farthest) {
  const std::int64_t exact = buckets / 2;
  const float steps = static_cast<float>(buckets - exact) /
                      std::log(static_cast<float>(farthest) / static_cast<float>(exact));
  const Value real = b.Node("Cast", {distances}, {{"to", Builder::OnnxType(b.dtype())}});
  const Value ratio = b.Node("Div", {real, b.Scalar(static_cast<float>(exact))});
  const Value step = b.Node("Mul", {b.Node("Log", {ratio}), b.Scalar(steps)});
  const Value whole = b.Node("Cast", {step}, {{"to", Builder::OnnxType(DType::kInt64)}});
  const Value far = b.Node("Min", {b.Node("Add", {whole, b.Int(exact)}), b.Int(buckets - 1)});
  return b.Node("Where", {b.Node("Less", {distances, b.Int(exact)}), distances, far});
}

}  // namespace

Value RelativeBias(Builder& b, const Value& queries, const Value& keys, bool both_ways,
                   const T5Config& config) {
  const Builder::Scope scope = b.In("relative_attention_bias");
  const Value positions = RelativePositions(b, queries, keys);
  Value bucket;
  if (both_ways) {
    const std::int64_t half = config.buckets / 2;
    const Value behind = b.Node("Greater", {positions, b.Int(0)});
    const Value side = b.Node("Where", {behind, b.Int(half), b.Int(0)});
    bucket = b.Node("Add", {side, Buckets(b, b.Node("Abs", {positions}), half, config.distance)});
  } else {
    const Value distances = b.Node("Neg", {b.Node("Min", {positions, b.Int(0)})});
    bucket = Buckets(b, distances, config.buckets, config.distance);
  }
  const Value table = b.Weight("weight", {config.buckets, config.heads});
  const Value biases = b.Node("Gather", {table, bucket}, {{"axis", 0}});
  const Value heads = b.Node("Transpose", {biases}, {{"perm", std::vector<std::int64_t>{2, 0, 1}}});
  return b.Node("Unsqueeze", {heads, b.Ints({0})});
}

Value T5FeedForward(Builder& b, const Value& x, const T5Config& config) {
  const Builder::Scope scope = b.In("DenseReluDense");
  const auto widen = [&](const char* name) {
    return Linear(b, name, x, config.width, config.inner, false);
  };
  Value inner = Activate(b, widen(config.gated ? "wi_0" : "wi"), config.activation);
  if (config.gated) inner = b.Node("Mul", {inner, widen("wi_1")});
  if (config.dropout) inner = Dropout(b, inner);
  return Linear(b, "wo", inner, config.inner, config.width, false);
}

}  // namespace dlcost::networks
