#pragma once

#include "models/networks/builder.h"

namespace dlcost::networks {

struct ConvSpec {
  std::int64_t in;
  std::int64_t out;
  std::int64_t kernel;
  std::int64_t stride = 1;
  std::int64_t pad = 0;
  std::int64_t group = 1;
  bool bias = true;
};

// x: [N, in, H, W] to [N, out, H', W'].
Value Conv(Builder& b, const std::string& name, const Value& x, const ConvSpec& spec);
Value BatchNorm(Builder& b, const std::string& name, const Value& x, std::int64_t channels);
// A convolution and its batch normalization, folded into the convolution's bias or kept.
Value ConvNorm(Builder& b, const std::string& conv, const std::string& norm, const Value& x,
               ConvSpec spec, bool folded);
Value MaxPool(Builder& b, const Value& x, std::int64_t kernel, std::int64_t stride,
              std::int64_t pad = 0);
Value Relu(Builder& b, const Value& x);

// x: [N, in] to [N, out], as one Gemm.
Value Affine(Builder& b, const std::string& name, const Value& x, std::int64_t in,
             std::int64_t out);
// x: [..., in] to [..., out], as MatMul, and Add when there is a bias.
Value Linear(Builder& b, const std::string& name, const Value& x, std::int64_t in, std::int64_t out,
             bool bias = true);
// x: [batch, sequence, width] times the transposed table [rows, width], which is also the
// embedding: [batch, sequence, rows]. `ids` is [batch, sequence].
Value TiedProjection(Builder& b, const Value& x, const Value& table, std::int64_t rows,
                     std::int64_t width, const Value& ids);
// Over the last axis, with scale and bias.
Value LayerNorm(Builder& b, const std::string& name, const Value& x, std::int64_t width);
// Over the last axis, by the root of the mean of squares, with a scale alone.
Value RmsNorm(Builder& b, const std::string& name, const Value& x, std::int64_t width);
// "silu", "gelu", "gelu_tanh" or "relu".
Value Activate(Builder& b, const Value& x, const std::string& activation);

struct AttentionSpec {
  std::int64_t width;
  std::int64_t heads;
  bool bias = true;
  bool dropout = false;  // of the weights, in training
  bool scaled = true;    // scores by the root of a head's width
};

// Dropout as an export in training mode has it: nothing at inference.
Value Dropout(Builder& b, const Value& x);

// x: [batch, sequence, width] to [batch, heads, sequence, width / heads].
Value SplitHeads(Builder& b, const Value& x, const AttentionSpec& spec);
// Scaled dot-product attention over split heads, heads merged again: [batch, query, width].
// `mask` is added to the scores [batch, heads, query, key]; it may be left out.
Value AttendHeads(Builder& b, const Value& q, const Value& k, const Value& v, const Value& mask,
                  const AttentionSpec& spec);
// Multi-head attention with its four projections, named q, k, v and out.
Value MultiHeadAttention(Builder& b, const Value& query, const Value& memory, const Value& mask,
                         const AttentionSpec& spec);
// [sequence, sequence]: 0 where a position may look, the lowest number of the type to its right.
// `ids` is [batch, sequence].
Value CausalMask(Builder& b, const Value& ids);
// [batch, 1, 1, sequence]: 0 where attention_mask [batch, sequence] is 1, the lowest number of the
// type where it is 0.
Value PaddingMask(Builder& b, const Value& attention_mask);
// The first rows of a learned or fixed position table [rows, width], one per position of `ids`
// [batch, sequence].
Value FirstPositions(Builder& b, const Value& table, const Value& ids);
// The lowest finite number of the network's type, as masks use it.
float Lowest(DType dtype);

}  // namespace dlcost::networks
