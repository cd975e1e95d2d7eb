#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/core/dtype.h"
#include "estimator/core/units.h"

namespace dlcost {

// What a kernel really executes, told part by part. An algorithm is a pure function of a loop nest,
// tile shapes and library constants; its result is an Execution.

// Ways of executing an operator.
enum class Algorithm {
  kNone,                   // one pass over the data: elementwise, movement, view
  kDirect,                 // convolution: one thread per output, no padding
  kImplicitGemm,           // convolution as a matrix product whose left side is gathered on the fly
  kIm2colGemm,             // the same with the left side written to memory first
  kWinograd,               // F(m,r), all transforms within one kernel
  kWinogradNonfused,       // F(m,r), transforms as kernels of their own around a batched product
  kFft,                    // tiles transformed to frequencies, multiplied there, transformed back
  kDepthwise,              // one input channel per group: a stencil, no matrix product
  kTiledGemm,              // matrix product in tiles, possibly split along k
  kMatrixVector,           // one side of the product is a vector or close to it
  kFlashAttention,         // scores stay on the chip
  kMaterializedAttention,  // scores and probabilities go through memory
  kRecurrentSteps,         // one product per step over input and hidden state together
  kRecurrentInputGemm,     // all inputs in one product, then one product per step
  kRecurrentPersistent,    // one product for the inputs, then one kernel that keeps the weights
  kReduction,              // reduction or normalization over rows
  kSystolic,               // a product on systolic arrays
  kBlockedGemm,            // a product blocked for the registers and caches of a processor's cores
};
std::string_view Name(Algorithm algorithm);  // "implicit_gemm", "winograd", "flash", ...
std::optional<Algorithm> ParseAlgorithm(std::string_view name);

// Where an instruction issues. Instruction counters (nvprof flop_count_*, Nsight Compute
// smsp__sass_thread_inst_executed_op_*) see the vector pipe only.
enum class Pipe { kVector, kTensor };
std::string_view Name(Pipe pipe);  // "vector", "tensor"

// Arithmetic instructions, counted per thread. On the tensor pipe `fma` counts the multiply-adds
// that the matrix instructions do.
struct Instructions {
  Count fma, add, mul;
  Count special;  // exp2, log2, reciprocal, reciprocal square root, sine, tanh units

  // As nvprof's flop_count does it: an FMA is two; special-function instructions are not in it.
  Flops flops() const { return Flops(fma + fma + add + mul); }
  Instructions& operator+=(const Instructions& other);
  friend Instructions operator*(Instructions a, Count b);
  friend bool operator==(const Instructions&, const Instructions&) = default;
};

// Why instructions are executed.
enum class TermKind {
  kProducts,   // multiply-adds that the algorithm needs for its result
  kPadding,    // the same on positions that only fill up a tile
  kSkipped,    // negative: work of the mathematics that the algorithm leaves out (causal mask)
  kTransform,  // Winograd, Fourier and layout transforms
  kReduction,  // adding up what threads, slices or split-k parts hold
  kEpilogue,   // scale, accumulate, bias, fused neighbours
  kPointwise,  // arithmetic outside matrix products
};
std::string_view Name(TermKind kind);

// One line of the decomposition: "row padding 3025 -> 3072".
struct Term {
  std::string what;
  TermKind kind = TermKind::kProducts;
  Pipe pipe = Pipe::kVector;
  DType type = DType::kFloat32;
  Instructions instructions;
};

// The tiles of a matrix product: `batch` products of m x n x k, covered by tile_m x tile_n blocks
// that walk k in steps of tile_k, shared by `split_k` blocks.
struct TileGrid {
  Count batch = 1, m, n, k;
  Count tile_m, tile_n, tile_k;
  Count split_k = 1;
  Count slices = 1;  // thread groups of a block that share k
  // Products that a block does for each of its outputs: the frequencies of a fused Winograd tile,
  // the real products of a complex one.
  Count planes = 1;
  // Where the tiles at the ends are cut instead of padded: what m, n and k pad to.
  struct Cut {
    Count m, n, k;
    friend bool operator==(const Cut&, const Cut&) = default;
  };
  std::optional<Cut> cut = std::nullopt;
  Count walked = 0;        // what k comes to before its ends pad (ConvOptions::channel_step); 0: k
  int resident = 1;        // TileShape::resident
  bool wide = false;       // TileShape::wide
  bool of_planes = false;  // ConvOptions::images_apart

  Count padded_m() const { return cut ? cut->m : RoundUp(m, tile_m); }
  Count padded_n() const { return cut ? cut->n : RoundUp(n, tile_n); }
  // Every part of a split walks the same number of whole steps.
  Count padded_k() const {
    const Count steps = std::max(walked, k);
    return cut ? cut->k : RoundUp(CeilDiv(steps, split_k), tile_k) * split_k;
  }
  Count Blocks() const;                 // thread blocks of the launch
  Count Waves(Count concurrent) const;  // rounds, when `concurrent` blocks run at a time
  double PaddingShare() const;          // share of executed multiply-adds that only pad, 0 to 1
};

// One kernel launch, or `launches` equal ones; the terms are sums over all launches.
struct Stage {
  std::string name;  // "input transform", "product", "step"
  Count launches = 1;
  std::vector<Term> terms;
  std::optional<TileGrid> grid;
  // Traffic beyond the operator's own operands: intermediate results that go through memory, and
  // operands that have to be read again (weights of a recurrent step).
  Bytes extra_read, extra_written;
  Count transposed;  // elements that change their layout, whole blocks of a kernel for that
  Count padded;      // positions whose channels are padded to whole pieces, or cut back to what is
  bool generic = false;  // a kernel for any layouts, not one for these

  Instructions On(Pipe pipe) const;
};

struct Execution {
  Algorithm algorithm = Algorithm::kNone;
  std::string name;  // with parameters: "winograd F(2x2,3x3)", "implicit_gemm 128x64"
  std::vector<Stage> stages;
  Bytes workspace;  // device memory needed beside the operands

  Instructions On(Pipe pipe) const;
  Instructions Of(TermKind kind) const;  // both pipes
  // Executed floating-point operations on both pipes, an FMA as two.
  Flops flops() const;
  Bytes ExtraRead() const;
  Bytes ExtraWritten() const;
  Count Launches() const;
  // Share of all multiply-adds in products that only fill up tiles, 0 to 1.
  double PaddingShare() const;
  // The matrix product of the execution: the grid of its longest stage, or nullptr.
  const TileGrid* Grid() const;
};

// The same so many times, one after the other: launches, traffic and instructions add up.
void Repeat(Execution& execution, Count times);

}  // namespace dlcost
