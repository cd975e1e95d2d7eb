#include "estimator/roofline/timing_constants.h"

#include <vector>

#include "estimator/core/error.h"
#include "estimator/core/spelling.h"

namespace dlcost {
namespace {

using C = Constant;
constexpr double kUs = 1e-6;

// Values: the middle of what fits on measured devices found (docs/timing.md has the tables).
constexpr ConstantDef kDefs[] = {
    {C::kLaunchGraph, "launch.graph", 2.2 * kUs, 0, 50 * kUs, "s",
     "a kernel's own start and end when kernels follow each other without the host"},
    {C::kLaunchEager, "launch.eager", 30 * kUs, 1 * kUs, 200 * kUs, "s",
     "one framework call with its launch, as a host-side timer sees it"},
    {C::kLaunchNext, "launch.next", 15 * kUs, 0, 100 * kUs, "s",
     "each further kernel of the same framework call"},
    {C::kLaunchConv, "launch.convolution", 35 * kUs, 0, 150 * kUs, "s",
     "what a framework's convolution call takes more than another call"},
    {C::kLaunchRows, "launch.rows", 8 * kUs, 0, 50 * kUs, "s",
     "what a softmax or normalization call takes more than an elementwise call"},
    {C::kLaunchAttention, "launch.attention", 5 * kUs, 0, 50 * kUs, "s",
     "start, end and first loads of a fused attention kernel beyond launch.graph"},
    {C::kLaunchPrefill, "launch.prefill", 5 * kUs, 0, 50 * kUs, "s",
     "the kernel before prefill attention that writes queries and the key-value cache"},
    {C::kLaunchDecode, "launch.decode", 4 * kUs, 0, 50 * kUs, "s",
     "start, end and first loads of a decode attention kernel beyond launch.graph"},
    {C::kLaunchQuantize, "launch.quantize", 9.5 * kUs, 0, 50 * kUs, "s",
     "finding the scale of activations and quantizing them before a low-precision product"},
    {C::kMemorySustained, "memory.sustained", 0.80, 0.3, 1, "",
     "share of the rated bandwidth that matrix kernels sustain"},
    {C::kMemoryLatency, "memory.latency", 1.5 * kUs, 0, 20 * kUs, "s",
     "first access to device memory until the stream flows"},
    {C::kMemoryReread, "memory.reread", 0.8, 0.02, 1, "",
     "bandwidth of reading panels again, as a share of streaming (short, strided pieces)"},
    {C::kCacheRate, "cache.rate", 3, 1, 12, "x",
     "bandwidth of the last-level cache as a multiple of the rated memory bandwidth"},
    {C::kCacheWarmUntil, "cache.warm_until", 0.6, 0.02, 3, "x",
     "share of the cache up to which everything touched last time is still there"},
    {C::kCacheColdAfter, "cache.cold_after", 0.4, 0.02, 3, "x",
     "further share of the cache after which nothing is left"},
    {C::kBurstGain, "burst.gain", 1.1, 1, 6, "x",
     "arithmetic rate of a short kernel over the sustained one (power limit)"},
    {C::kBurstTime, "burst.time", 2000 * kUs, 50 * kUs, 200000 * kUs, "s",
     "work after which the short-kernel rate is gone"},
    {C::kVectorEfficiency, "vector.efficiency", 0.85, 0.1, 1.1, "",
     "share of the vector peak that the main loop of a matrix product sustains"},
    {C::kVectorRagged, "vector.ragged", 0.93, 0.05, 1.2, "x",
     "rate of unbatched products whose m is no multiple of 64"},
    {C::kVectorBatched, "vector.batched", 1.0, 0.3, 2, "x", "rate of strided-batched products"},
    {C::kVectorTilePenalty, "vector.tile_penalty", 1.0, 0, 60, "elements",
     "loss to operand traffic: efficiency / (1 + penalty * (1/rows + 1/columns of the tile))"},
    {C::kVectorFill, "vector.fill", 120, 2, 400, "B/clk",
     "operand bytes that reach one unit per clock"},
    {C::kVectorDrain, "vector.drain", 8, 1, 400, "B/clk",
     "result bytes that leave one unit per clock, not hidden behind the main loop"},
    {C::kVectorTileOverhead, "vector.tile_overhead", 0.3 * kUs, 0, 20 * kUs, "s",
     "start and end of one tile"},
    {C::kVectorBusyArea, "vector.busy_area", 6000, 64, 60000, "elements",
     "tile elements that one unit needs to be busy"},
    {C::kVectorSplit, "vector.split", 2.5 * kUs, 0, 30 * kUs, "s",
     "adding up the parts when k is split over blocks"},
    {C::kVectorOverlap, "vector.overlap", 2, 1, 10, "exponent",
     "p of (arithmetic^p + memory^p + cache^p)^(1/p): 1 adds, large takes the longest"},
    {C::kVectorResident, "vector.resident", 2, 1, 8, "blocks",
     "blocks of one unit that walk the matrices together"},
    {C::kVectorBatchedRows, "vector.batched_rows", 64, 32, 128, "elements",
     "fewest rows of the tiles that the library has for strided-batched products"},
    {C::kTensorEfficiency, "tensor.efficiency", 0.88, 0.1, 1.1, "",
     "share of the matrix-unit peak that the main loop sustains, 16-bit inputs"},
    {C::kTensorEfficiency8, "tensor.efficiency_8bit", 0.85, 0.1, 1.1, "",
     "the same for 8-bit inputs"},
    {C::kTensorUnaligned, "tensor.unaligned", 0.7, 0.05, 1, "x",
     "rate when rows do not start at multiples of 16 bytes"},
    {C::kTensorTilePenalty, "tensor.tile_penalty", 2, 0, 60, "elements",
     "as vector.tile_penalty, for matrix units"},
    {C::kTensorFill, "tensor.fill", 70, 2, 400, "B/clk",
     "operand bytes that reach one unit per clock"},
    {C::kTensorDrain, "tensor.drain", 11, 1, 400, "B/clk",
     "result bytes that leave one unit per clock, not hidden behind the main loop"},
    {C::kTensorTileOverhead, "tensor.tile_overhead", 0.5 * kUs, 0, 20 * kUs, "s",
     "start and end of one tile"},
    {C::kTensorBusyArea, "tensor.busy_area", 4500, 64, 60000, "elements",
     "tile elements that one unit needs to be busy"},
    {C::kTensorSplit, "tensor.split", 2.5 * kUs, 0, 30 * kUs, "s",
     "adding up the parts when k is split over blocks"},
    {C::kTensorOverlap, "tensor.overlap", 5, 1, 10, "exponent", "as vector.overlap"},
    {C::kTensorResident, "tensor.resident", 1, 1, 8, "blocks", "as vector.resident"},
    {C::kAttentionEfficiency, "attention.efficiency", 0.55, 0.05, 1.1, "",
     "share of the matrix-unit peak in fused attention's two products"},
    {C::kAttentionEfficiency8, "attention.efficiency_8bit", 0.45, 0.02, 1.1, "",
     "the same for 8-bit queries"},
    {C::kAttentionScoreCycles, "attention.score_cycles", 0.05, 0, 1, "clk",
     "clocks of one unit per score for scaling, exponential and sum, not hidden"},
    {C::kAttentionBlockOverhead, "attention.block_overhead", 2 * kUs, 0, 30 * kUs, "s",
     "start and end of one block of queries"},
    {C::kAttentionPrepare, "attention.prepare", 0.45, 0.05, 1, "",
     "share of the rated bandwidth of the kernel before prefill attention"},
    {C::kAttentionOverlap, "attention.overlap", 1.2, 1, 10, "exponent", "as vector.overlap"},
    {C::kDecodeBlockOverhead, "decode.block_overhead", 2 * kUs, 0, 30 * kUs, "s",
     "one block of a decode kernel that shares keys and values between queries"},
    {C::kDecodeHeadOverhead, "decode.head_overhead", 1.3 * kUs, 0, 30 * kUs, "s",
     "one block of a decode kernel with one block per query head"},
    {C::kDecodeFill, "decode.fill", 14, 0.5, 400, "B/clk",
     "key and value bytes that a shared block reads per clock"},
    {C::kDecodeFillSingle, "decode.fill_single", 22, 0.5, 400, "B/clk",
     "key and value bytes that a one-head block reads per clock"},
    {C::kDecodeOverlap, "decode.overlap", 2, 1, 10, "exponent", "as vector.overlap"},
    {C::kConvEfficiency, "conv.efficiency", 0.95, 0.1, 1.1, "",
     "share of the vector peak in the main loop of direct and implicit-GEMM convolution"},
    {C::kConvTilePenalty, "conv.tile_penalty", 10, 0, 60, "elements", "as vector.tile_penalty"},
    {C::kConvBusyArea, "conv.busy_area", 12000, 64, 60000, "elements", "as vector.busy_area"},
    {C::kConvTileOverhead, "conv.tile_overhead", 0.5 * kUs, 0, 40 * kUs, "s",
     "as vector.tile_overhead"},
    {C::kConvDrain, "conv.drain", 60, 1, 400, "B/clk", "as vector.drain"},
    {C::kConvWinogradFused, "conv.winograd_fused", 0.5, 0.05, 1.2, "",
     "share of the vector peak in one-kernel Winograd F(2x2,3x3), executed products"},
    {C::kConvWinogradStaged, "conv.winograd_staged", 0.8, 0.05, 1.3, "",
     "share of the vector peak in the products of staged Winograd F(4x4,3x3)"},
    {C::kConvOverlap, "conv.overlap", 1.2, 1, 10, "exponent", "as vector.overlap"},
    {C::kStreamSustained, "stream.sustained", 0.85, 0.3, 1, "",
     "share of the rated bandwidth that elementwise kernels sustain"},
    {C::kSoftmaxOnePass, "rows.softmax_short", 0.97, 0.1, 1.2, "x",
     "softmax rows that stay in registers (to 1024 elements), of stream.sustained"},
    {C::kSoftmaxTwoPass, "rows.softmax_long", 0.78, 0.1, 1.2, "x",
     "softmax rows that are read more than once, of stream.sustained"},
    {C::kNormalization, "rows.normalization", 0.65, 0.1, 1.2, "x",
     "layer normalization, of stream.sustained"},
    {C::kRowsUnaligned, "rows.unaligned", 0.95, 0.1, 1, "x",
     "softmax and normalization of rows that do not start at multiples of 16 bytes"},
    {C::kRangeGemm, "range.gemm", 0.25, 0.01, 2, "log",
     "measured matrix products lie within expected * exp(+-range) in four of five cases"},
    {C::kRangeBatched, "range.batched", 0.3, 0.01, 2, "log", "the same for batched products"},
    {C::kRangeAttention, "range.attention", 0.25, 0.01, 2, "log", "the same for attention"},
    {C::kRangeDecode, "range.decode", 0.35, 0.01, 2, "log", "the same for decode attention"},
    {C::kRangeConv, "range.convolution", 0.35, 0.01, 2, "log", "the same for convolutions"},
    {C::kRangeElementwise, "range.elementwise", 0.2, 0.01, 2, "log",
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

TimingConstants::TimingConstants() {
  for (const ConstantDef& def : kDefs) (*this)[def.id] = def.value;
}

TimingConstants::TimingConstants(const std::map<std::string, double>& timing) : TimingConstants() {
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
