#include "estimator/roofline/timing_constants.h"

#include <vector>

#include "estimator/core/error.h"
#include "estimator/core/spelling.h"

namespace dlcost {
namespace {

using C = Constant;
constexpr double kUs = 1e-6;
constexpr auto kTrait = ConstantScope::kTrait;
constexpr auto kUniversal = ConstantScope::kUniversal;

// Values: the middle of what fits on measured devices found (docs/timing.md has the tables).
constexpr ConstantDef kDefs[] = {
    {C::kLaunchGraph, "launch.graph", 2.06 * kUs, 0, 50 * kUs, "s",
     "a kernel's own start and end when kernels follow each other without the host"},
    {C::kLaunchHost, "launch.host", 16 * kUs, 0, 100 * kUs, "s",
     "from the host's first call to a kernel, and from the last kernel back to the host"},
    {C::kLaunchCall, "launch.call", 14.6 * kUs, 0, 100 * kUs, "s",
     "the host's time for one framework call, beside the device's"},
    {C::kLaunchProduct, "launch.product", 23.7 * kUs, 0, 200 * kUs, "s",
     "what an unbatched matrix product's call takes beyond launch.call, before it starts"},
    {C::kLaunchConv, "launch.convolution", 240 * kUs, 0, 500 * kUs, "s",
     "before a convolution starts whose library is asked for a kernel"},
    {C::kLaunchLayer, "launch.layer", 4.5, 0, 20, "x",
     "what a convolution's or batch normalization's call takes beyond launch.call, in that time",
     kUniversal},
    {C::kLaunchAttention, "launch.attention", 3 * kUs, 0, 50 * kUs, "s",
     "start, end and first loads of an attention kernel beyond launch.graph", kUniversal},
    {C::kMemorySustained, "memory.sustained", 0.818, 0.3, 1, "",
     "share of the rated bandwidth that matrix kernels sustain"},
    {C::kMemoryLatency, "memory.latency", 0.7 * kUs, 0, 20 * kUs, "s",
     "first access to device memory until the stream flows", kUniversal},
    {C::kCacheRate, "cache.rate", 24, 1, 200, "B/clk",
     "bytes that the last-level cache delivers to one unit per clock, all units reading", kTrait},
    {C::kCacheShare, "cache.share", 0.807, 0.05, 3, "x",
     "share of the last-level cache that one stream of data can use"},
    {C::kPowerVector, "power.vector", 1.31, 0.1, 20, "pJ/FLOP/nm",
     "energy of the whole board per fp32 FLOP of matrix products and nm of the process", kTrait},
    {C::kPowerTensor, "power.tensor", 1.55, 0.4, 20, "pJ/FLOP",
     "the same per FLOP of matrix units with 16-bit inputs, any process; 8-bit inputs take half",
     kTrait},
    {C::kBurstTime, "burst.time", 1080 * kUs, 50 * kUs, 200000 * kUs, "s",
     "work after which a board is down to the clock that its power limit allows"},
    {C::kTileOverhead, "tile.overhead", 0.38 * kUs, 0, 20 * kUs, "s", "start and end of one tile",
     kUniversal},
    {C::kTileBusyArea, "tile.busy_area", 4000, 64, 60000, "elements",
     "elements of a product's tile that one unit needs to be busy", kUniversal},
    {C::kTileSplit, "tile.split", 2.45 * kUs, 0, 30 * kUs, "s",
     "adding up the parts when a sum is split over blocks", kUniversal},
    {C::kVectorEfficiency, "vector.efficiency", 0.85, 0.1, 1, "",
     "share of the vector peak that the main loop of a matrix product sustains", kTrait},
    {C::kVectorRagged, "vector.ragged", 1, 0.05, 1.2, "x",
     "rate of unbatched products of which two of m, n and k are no multiples of 64", kTrait},
    {C::kVectorBatched, "vector.batched", 1, 0.3, 2, "x", "rate of strided-batched products",
     kTrait},
    {C::kVectorDrain, "vector.drain", 3.99, 1, 400, "B/clk",
     "result bytes that leave one unit per clock, not hidden behind the main loop"},
    {C::kVectorOverlap, "vector.overlap", 1.61, 1, 10, "exponent",
     "p of (arithmetic^p + memory^p + cache^p)^(1/p): 1 adds, large takes the longest", kTrait},
    {C::kTensorEfficiency, "tensor.efficiency", 1, 0.1, 1, "",
     "share of the matrix-unit peak that the main loop sustains, 16-bit inputs", kTrait},
    {C::kTensorEfficiency8, "tensor.efficiency_8bit", 0.801, 0.1, 1.1, "",
     "the same for 8-bit inputs"},
    {C::kTensorFill, "tensor.fill", 64, 2, 400, "B/clk",
     "operand bytes that reach one unit per clock", kTrait},
    {C::kTensorDrain, "tensor.drain", 13.1, 1, 400, "B/clk",
     "result bytes that the cache takes per clock and unit, not hidden behind the main loop"},
    {C::kTensorCut, "tensor.cut", 1, 0.1, 1, "",
     "share of what the chip's matrix units could do that the board's do: it is sold with less",
     kTrait},
    {C::kTensorOverlap, "tensor.overlap", 4.8, 1, 10, "exponent", "as vector.overlap", kTrait},
    {C::kKernelOverlap, "kernel.overlap", 1.6, 1, 10, "exponent",
     "as vector.overlap, for prefill attention and for convolutions on vector units", kUniversal},
    {C::kAttentionEfficiency, "attention.efficiency", 0.8, 0.05, 1.1, "",
     "share of the matrix-unit peak in fused attention's two products", kTrait},
    {C::kAttentionFlash2, "attention.flash2", 1, 0.05, 1, "",
     "share of the matrix-unit peak that the instructions of FlashAttention-2's kernels reach",
     kTrait},
    {C::kAttentionBlockOverhead, "attention.block_overhead", 2.4 * kUs, 0, 30 * kUs, "s",
     "start and end of one block of queries"},
    {C::kDecodeBlockOverhead, "decode.block_overhead", 1.1 * kUs, 0, 30 * kUs, "s",
     "one block of a decode kernel, 16-bit cache"},
    {C::kConvEfficiency, "conv.efficiency", 0.936, 0.1, 1, "",
     "share of the vector peak in the main loop of direct and implicit-GEMM convolution"},
    {C::kConvTilePenalty, "conv.tile_penalty", 6, 0, 60, "elements",
     "loss to operand traffic: efficiency / (1 + penalty * (1/rows + 1/columns of the tile))",
     kUniversal},
    {C::kConvWinogradFused, "conv.winograd_fused", 0.85, 0.05, 1.2, "",
     "share of the vector peak in one-kernel Winograd F(2x2,3x3), executed products"},
    {C::kStreamSustained, "stream.sustained", 0.85, 0.3, 1, "",
     "share of the rated bandwidth that elementwise kernels sustain", kTrait},
    {C::kSoftmax, "rows.softmax_long", 0.95, 0.1, 1.2, "x",
     "softmax rows that are read more than once, of stream.sustained"},
    {C::kRangeGemm, "range.gemm", 0.384, 0.01, 2, "log",
     "measured matrix products lie within expected * exp(+-range) in four of five cases"},
    {C::kRangeBatched, "range.batched", 0.346, 0.01, 2, "log", "the same for batched products"},
    {C::kRangeAttention, "range.attention", 0.344, 0.01, 2, "log", "the same for attention"},
    {C::kRangeDecode, "range.decode", 0.557, 0.01, 2, "log", "the same for decode attention"},
    {C::kRangeConv, "range.convolution", 0.339, 0.01, 2, "log", "the same for convolutions"},
    {C::kRangeElementwise, "range.elementwise", 0.227, 0.01, 2, "log",
     "the same for elementwise kernels, softmax and normalization"},
};
static_assert(std::size(kDefs) == kConstantCount);

constexpr bool InOrder() {
  for (std::size_t i = 0; i < kConstantCount; ++i) {
    if (kDefs[i].id != static_cast<Constant>(i)) return false;
  }
  return true;
}
static_assert(InOrder());

}  // namespace

std::span<const ConstantDef> ConstantDefs() { return kDefs; }

const ConstantDef& Def(Constant constant) { return kDefs[static_cast<std::size_t>(constant)]; }

std::optional<Constant> FindConstant(std::string_view name) {
  for (const ConstantDef& def : kDefs) {
    if (def.name == name) return def.id;
  }
  return std::nullopt;
}

bool IsAtLimit(const ConstantDef& def, double value) {
  const double near = 1e-3 * (def.high - def.low);
  return value > def.high - near || (value < def.low + near && def.low > 0);
}

TimingConstants::TimingConstants() {
  for (const ConstantDef& def : kDefs) (*this)[def.id] = def.value;
}

TimingConstants::TimingConstants(const std::map<std::string, double>& timing)
    : TimingConstants(TimingConstants(), timing) {}

TimingConstants::TimingConstants(const TimingConstants& common,
                                 const std::map<std::string, double>& timing)
    : TimingConstants(common) {
  for (const auto& [name, value] : timing) {
    const std::optional<Constant> constant = FindConstant(name);
    if (!constant) {
      std::vector<std::string> names;
      for (const ConstantDef& def : kDefs) names.emplace_back(def.name);
      throw Error("timing: unknown constant '{}'{}", Printable(name), DidYouMean(name, names));
    }
    const ConstantDef& def = Def(*constant);
    if (!(value >= def.low && value <= def.high)) {
      throw Error("timing: {} = {:g} is outside its range, {:g} to {:g} {}", def.name, value,
                  def.low, def.high, def.unit);
    }
    (*this)[*constant] = value;
  }
}

}  // namespace dlcost
