#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "models/operators/work.h"

namespace dlcost {

// What is known about a node's cost.
enum class NodeStatus {
  kCounted,   // work and bytes are exact (or an upper bound that is marked as one)
  kView,      // moves nothing
  kMetadata,  // known before the run: shape arithmetic, constant folding
  kBounded,   // bytes known, work not
  kUnknown,   // nothing known, contributes no number
};
std::string_view Name(NodeStatus status);

enum class AccessKind { kStream, kStrided, kGather, kView, kInPlace };

// How an operator touches one operand.
struct Access {
  static constexpr int kAttributes = -1;  // numbers that the node's attributes hold
  bool is_output = false;
  int operand = 0;  // index among the node's inputs or outputs, or kAttributes
  AccessKind kind = AccessKind::kStream;
  Bytes bytes;
  // Of an output in place: the input whose memory it takes over, as a growing cache does.
  int memory_of = kNoInput;
  static constexpr int kNoInput = -1;
};

// The loop nests that algorithms and timing models understand.

// batch independent products C[m,n] += A[m,k] B[k,n].
struct GemmNest {
  Count batch = 1, m, n, k;
  // Bytes of operands are in Access; these say which input is which.
  int a_input = 0, b_input = 1;
  bool b_is_weight = false;
  bool a_transposed = false;  // rows of A lie along k: what is contiguous is m
};

// One spatial axis of a convolution, in elements.
struct ConvAxis {
  std::int64_t in = 1, out = 1, kernel = 1, stride = 1, dilation = 1, pad_begin = 0, pad_end = 0;
};

// Convolution over its spatial axes (1 to 3 and more). A transposed one, which the gradient of an
// input is too, has its own input and output here, and pads as its attributes mean them: padding of
// the output. The gradient of the weights has the input and output of the convolution that it is
// of.
struct ConvNest {
  Count batch = 1, groups = 1, in_channels, out_channels;  // channels over all groups
  std::vector<ConvAxis> axes;
  bool transposed = false;
  bool of_weights = false;  // the weights are the result: sums over all positions of all images

  // The product of one extent over all axes: Product(&ConvAxis::out) is the output positions.
  Count Product(std::int64_t ConvAxis::*extent) const;
  std::int64_t LongestFilter() const;  // its extent along the axis where that is largest
};

// softmax(Q K^T) V. For self-attention with a cache, kv_len includes the past.
struct AttentionNest {
  Count batch = 1, q_heads, kv_heads, q_len, kv_len, qk_dim, v_dim;
  bool causal = false;
  bool cached = false;  // the kernel adds keys and values to a cache and takes them from there
  // Keys before and after its own position that a query sees, -1: all; the last query's own is the
  // last key.
  std::int64_t left = -1, right = -1;
  // The way back, in one kernel: the gradients of queries, keys and values, from scores that are
  // computed again. `counts_scores`: these are part of the mathematics; they are not where the
  // graph that the kernel stands for keeps its probabilities.
  bool backward = false, counts_scores = true;
};

// Multiply-accumulates for each score: of the scores and the values; on the way back those of the
// gradients of both operands of both products (and of the scores where they count).
Count MacsPerScore(const AttentionNest& nest);

// RNN, GRU, LSTM: `gates` products of [input,hidden] and [hidden,hidden] per step.
struct RecurrentNest {
  Count directions = 1, steps, batch, input, hidden, gates;
  std::string_view cell;  // "RNN", "GRU", "LSTM": a literal
};

// `outer` independent reductions over `reduce` elements each (Reduce*, normalizations, Softmax,
// pooling).
struct ReduceNest {
  Count outer, reduce;
  bool planes = false;   // a row is whole channels of images
  bool windows = false;  // a row is a window of an image
  // A row is one channel of all images, and of each so many elements; 0: it is none.
  Count plane;
  // The way back of a normalization: rows of the data and of its gradient are read for two sums,
  // and again for the result. `across`: sums over all rows, of scale and shift, need a pass of
  // their own.
  bool backward = false, across = false;
};

// One of the operations over all tensors that an update consists of where no kernel does it whole.
struct UpdatePass {
  std::string_view name;          // as frameworks call it, a literal
  int reads, writes;              // tensors of the parameters' sizes
  int again_read, again_written;  // of these, beyond the operator's own operands
};

// An optimizer's update in passes.
struct UpdatePasses {
  std::span<const UpdatePass> passes;
  std::vector<Count> tensors;  // elements of each parameter
  int temporaries = 0;         // of the parameters' sizes, between passes
};

struct ElementwiseNest {
  Count elements;
  bool normalizes = false;  // with statistics that are known: batch normalization at inference
  Count plane = 1;          // elements of one channel of one image, which it normalizes alike
  bool mixed = false;       // by statistics of a wider type, as under autocast
  bool activation = false;  // a function that networks hold as a layer of its own: Relu, Gelu
  std::shared_ptr<const UpdatePasses> update =
      nullptr;  // of optimizers that frameworks also run so
};

using LoopNest = std::variant<std::monostate, GemmNest, ConvNest, AttentionNest, RecurrentNest,
                              ReduceNest, ElementwiseNest>;

// Multiply-accumulates of a nest; none for nests without products.
Count MacsOf(const LoopNest& nest);
// Whether the nest is a matrix product, a convolution, attention or recurrence.
bool IsProduct(const LoopNest& nest);

// One of several products that an operator consists of.
struct CostPart {
  std::string_view name;  // "projection", "attention", "dX": a literal
  LoopNest nest;
  DType type = DType::kUndefined;  // of its multiply-accumulates
  // What it reads of stored operands, where its nest does not say that: packed, or of more experts
  // than one token meets. 0: the nest's.
  Bytes stored{0};
  int stored_bits = 0;  // of one weight there, its scale left out
};

struct OpCost {
  NodeStatus status = NodeStatus::kCounted;
  Work work;
  std::vector<Access> accesses;
  LoopNest nest;  // of one run, also where work and accesses are of several
  // In order of execution, for an operator that is more than one product; `nest` is then that of
  // the part that shapes the operator. Their multiply-accumulates add up to those of `work`.
  std::vector<CostPart> parts;
  // MACs at positions that are not padding, where that differs from the dense count (convolutions).
  Macs valid_macs;
  // Parameters that no operand brings: numbers in attributes (trees, support vectors,
  // coefficients).
  Count held_parameters;
  Bytes held_bytes;
  std::string
      note;  // "" or one sentence for the report: a convention applied, an upper bound taken

  // Adds a product of an operator that has several: its multiply-accumulates and its nest.
  void AddPart(std::string_view name, const LoopNest& part, DType type);

  Bytes BytesRead() const;
  Bytes BytesWritten() const;
};

}  // namespace dlcost
