#include "estimator/roofline/attention_time.h"

#include <algorithm>
#include <cmath>

#include "models/algorithms/library_attention.h"

namespace dlcost {
namespace {

using C = Constant;

constexpr double kKeyTile = 64;    // keys that a block takes at a time
constexpr double kWideHead = 192;  // larger heads leave few registers for the other operand
constexpr double kNarrowHead = 64, kFewKeys = 256;  // for which there are kernels without a walk
constexpr double kHeadGranule = 16;                 // matrix instructions pad the head size
// FLOP on vector units per score: scale, maximum, difference, exponential, sum, conversion.
constexpr double kScoreFlops = 6;
constexpr double kMinPart = 128;   // keys of one part when the key length is split
constexpr double kMostParts = 16;  // of one key length, in a block of one query head
// TensorRT-LLM splits the keys of a block that serves all queries of a key-value head into
// min(n, sqrt(8 n)) parts, n = keys / 128, while these are no more than 8 waves; and takes such
// blocks where four times as many as they could be, n each, cover the units
// (cpp/tensorrt_llm/kernels/decoderMaskedMultiheadAttention, decoderXQAImplCommon.h:
// computeMultiBlockCount; decoderXQAImplJIT.cpp: mayHavePerfGain). Over 8-bit caches with 16-bit
// queries it has no others.
constexpr double kPartsRoot = 8, kMostWaves = 8, kPackFactor = 4;
// Rows of a shared decode kernel's tile: 16-bit caches use instructions of 16 rows, 8-bit of 8.
constexpr double kWideRows = 16, kNarrowRows = 8;
// Products of the way back over those of the way there, and its rate over theirs where sequences
// are long: FlashAttention-2's own benchmark prints 0.90 to 0.96 from 4,096 positions on with heads
// of 64 (A5000, H100, B200), 0.79 (1.01 causal) with heads of 128 on H100, FlashAttention-3's 0.84
// there (Dao-AILab/flash-attention, issues 416, 1589 and pulls 1791, 2688; gpu-mode/ring-attention,
// issue 10). At 512 positions it prints 0.63 to 0.79: what runs beside the kernel (BackwardTime).
constexpr double kBackwardWork = 2.5, kBackwardRate = 0.9;
// Shares of the peak that FlashAttention reached as it came out, there and back: the middle of the
// 30 to 50 and 25 to 35 % of an A100 that its successor's paper gives (arXiv 2307.08691, section
// 1). Triton's kernels of early 2023 printed 84 to 122 and 49 to 81 TFLOP/s of 312, causal
// (triton-lang/triton, pull 1917).
constexpr double kFirstForward = 0.4, kFirstBackward = 0.3;
// Share of their rate at which matrix units that were cut are kept busy. FlashAttention-2 prints
// 173 TFLOP/s of an RTX 4090, which does 181 at the highest clock that it was seen at
// (ROCm/flash-attention, issue 27); cuDNN's and FlashAttention-3's kernels 129 and 126 of an H20's
// 148, with a twelfth of the last wave idle (Dao-AILab/flash-attention, issue 1310).
constexpr double kCutRate = 0.97;
// The kernel before prefill is laid out by the heads of queries: it takes more than their bytes ask
// for, and less for keys and values on the side (measured rows of A100 and H100).
constexpr double kPrepareQueries = 1.4, kPrepareKeys = 0.4;
// Time of a block that has a unit to itself, over that of two side by side. Where prompts have no
// more blocks than the board has units, 56 rows of an A100 and an L40S took a fifth less than with
// 1 (fitted rows: 0.55 and 0.7 are nearest).
constexpr double kApart = 0.6;
constexpr double kSingleResident = 3;    // blocks of one query head that a unit runs side by side
constexpr double kSingleTogether = 2.2;  // and what these read at a time, over one alone
// What one alone reads, over a block that serves all queries of a key-value head: a row of one
// query leaves most of what converts 8-bit elements idle.
constexpr double kSingleFill = 0.65, kSingleFill8 = 0.25;
// Start and end of a block that serves all queries of a key-value head, over one of one query.
constexpr double kSharedStart = 2.4;
// Start and end of a tile of queries beside other tiles of the same block, over that of a block:
// cuDNN 9 takes an H200 2.3 us for each tile of 64 keys, of which 10 follow each other on a unit,
// and 4.3 for one of 384 (bench/published/h200, h100: grids of as many blocks as units).
constexpr double kPersistentStart = 0.52;

double PaddedHead(const AttentionProblem& p) {
  return std::exp2(std::ceil(std::log2(std::max(p.head_size, kHeadGranule))));
}

struct Operands {
  double queries, keys_values, output;  // elements
};

Operands Elements(const AttentionProblem& p) {
  const double queries = p.batch * p.heads * p.query_length * p.head_size;
  return {queries, 2 * p.batch * p.key_value_heads * p.key_length * p.head_size, queries};
}

void StreamMemory(const TimingDevice& d, const Conditions& conditions, double touched,
                  AttentionTime* t) {
  const double miss = MissShare(d, conditions, touched);
  t->memory_seconds = t->memory_bytes * (miss / (d.memory_rate * d[C::kMemorySustained]) +
                                         (1 - miss) / CacheReadRate(d));
}

// A kernel beside attention that takes as long as `bytes` do, of what it touches.
double BesideSeconds(const TimingDevice& d, const Conditions& conditions, double touched,
                     double bytes) {
  const double miss = MissShare(d, conditions, touched);
  return bytes * (miss / (d.memory_rate * d[C::kMemorySustained]) +
                  (1 - miss) / (CacheRate(d) * d[C::kMemorySustained]));
}

bool Early(const AttentionProblem& p) {
  return p.form == AttentionForm::kFlash1 || p.form == AttentionForm::kFlash2;
}

double Efficiency(const TimingDevice& d, const AttentionProblem& p) {
  const AttentionConstants& kernel = KernelsOf(d, p);
  const double own = kernel.efficiency > 0 ? kernel.efficiency : d[C::kAttentionEfficiency];
  double efficiency = p.query_bytes <= 1 ? kernel.efficiency_8bit : own;
  if (p.phase == AttentionPhase::kPrefill) efficiency *= kernel.paged;
  if (p.phase == AttentionPhase::kPrefill && p.key_value_bytes <= 1 && p.query_bytes > 1) {
    efficiency *= kernel.beside_8bit;
  }
  if (p.head_size > kWideHead) efficiency *= p.query_bytes <= 1 ? kernel.wide_8bit : kernel.wide;
  return efficiency;
}

// The share of the peak that kernels of an earlier generation do not pass: their instructions are
// those of one warp. 1: these are the newest.
double MostOf(const TimingDevice& d, const AttentionProblem& p) {
  if (!Early(p)) return 1;
  const double first = p.backward ? kFirstBackward : kFirstForward;
  return d[C::kAttentionFlash2] * (p.form == AttentionForm::kFlash1 ? first : 1);
}

// Clocks of one unit for a score, whose products take `products` at the board's peak.
double ScoreClocks(const TimingDevice& d, const AttentionProblem& p, double products) {
  const AttentionConstants& kernel = KernelsOf(d, p);
  const double cut = p.tensor ? d[C::kTensorCut] : 1;
  const double instructions = Early(p) ? d[C::kAttentionFlash2] : 1;
  const double whole = products * cut / instructions;
  // The way back has five products for two, each as fast as kBackwardRate says.
  const double clocks =
      Overlap(kernel.score_overlap, whole / Efficiency(d, p), kernel.score_clocks) *
      (p.backward ? kBackwardWork / kBackwardRate : 1);
  const double work = p.backward ? kBackwardWork : 1;
  // A chip that is sold with less of its matrix units does the rest beside them.
  const double beside = cut < 1 ? work * products / instructions / kCutRate : 0;
  return std::max({clocks, beside, work * products * cut / MostOf(d, p)});
}

// The head size that the kernel computes: those for paged caches are written for powers of two.
double KernelHead(const TimingDevice& d, const AttentionProblem& p) {
  const AttentionConstants& kernel = KernelsOf(d, p);
  const double head = p.phase == AttentionPhase::kPrefill
                          ? PaddedHead(p)
                          : RoundUp(p.head_size, kernel.head_granule);
  return p.query_bytes <= 1 ? std::max<double>(head, kernel.least_head_8bit) : head;
}

// Energy of a FLOP on vector units in fp32, over one on matrix units.
double VectorEnergy(const TimingDevice& d, double width) {
  const double vector = PowerLimit(d, false, 4), tensor = PowerLimit(d, true, width);
  return std::isfinite(vector) ? tensor / vector : 0;
}

// Waves of blocks that take as long as each other; or, under a mask, of blocks of which the last
// to end is halfway through on average when the others have none left.
double BlocksSeconds(double waves, double average, double longest, double overhead) {
  if (waves <= 1) return longest + overhead;
  if (average == longest) return std::ceil(waves) * (longest + overhead);
  return std::max(waves * average + longest / 2, longest) + overhead * (waves + 0.5);
}

// One block holds a tile of queries of one head and walks along the keys.
AttentionTime FlashTime(const TimingDevice& d, const AttentionProblem& p) {
  AttentionTime t;
  const AttentionConstants& kernel = KernelsOf(d, p);
  // Warps of prefill whose queries lie beyond the last one compute nothing, but in some 8-bit
  // kernels; other kernels compute their whole tile (rows of H100 and L40S).
  const bool whole =
      p.phase == AttentionPhase::kEncoder || (p.query_bytes <= 1 && kernel.whole_tiles_8bit);
  const bool alone =
      p.phase == AttentionPhase::kEncoder && !p.backward && kernel.contiguous_rows > 0;
  const int rows_of_tile = alone ? kernel.contiguous_rows : kernel.rows;
  const double tile = whole ? std::max<double>(p.tile, rows_of_tile) : p.tile;
  const double efficiency = Efficiency(d, p);
  const double queries = p.batch * p.heads * p.query_length;
  const double flops_per_clock = p.peak / d.units / d.clock;
  const double head = KernelHead(d, p);
  const double score_clocks = ScoreClocks(d, p, 4 * head / flops_per_clock);
  t.most = MostOf(d, p);
  // The keys of a tile reach over the windows of its first and its last query.
  const double reach =
      p.window > 0 ? std::min(p.key_length, p.window + tile + kKeyTile) : p.key_length;
  const bool narrow_head = p.head_size <= kNarrowHead;
  const bool narrow_floats = p.query_bytes <= 1 && p.energy_width >= p.query_bytes;
  const double keys = RoundUp(reach, alone && narrow_head ? kernel.narrow_keys : kKeyTile);
  // Under a causal mask a block stops at its diagonal: half the keys on average, and one tile.
  // A window's tile reaches over the queries beside it on both sides.
  const double average_keys = p.window > 0 ? std::min(keys, p.visible + tile)
                              : p.causal   ? std::min(keys, (keys + tile) / 2)
                                           : keys;
  t.blocks = p.batch * p.heads * std::ceil(p.query_length / tile);
  // A unit takes blocks side by side.
  const double resident = alone || p.head_size > kWideHead ? 1 : kernel.resident;
  t.waves = t.blocks / (d.units * resident);
  const bool apart = resident > 1 && t.blocks <= d.units;
  const double rows = resident * tile * (apart ? kApart : 1);
  const bool narrow =
      narrow_head && p.phase != AttentionPhase::kPrefill && p.key_length <= kFewKeys;
  const bool paged = p.phase == AttentionPhase::kPrefill && p.query_bytes > 1;
  const double contiguous = kernel.contiguous_start * (narrow ? kernel.narrow_overhead : 1);
  const double start = p.persistent ? kPersistentStart : paged ? 1 : contiguous;
  const double overhead = d[C::kAttentionBlockOverhead] * start +
                          (narrow_head && narrow_floats ? kernel.narrow_start_8bit : 0);
  const double average = rows * average_keys * score_clocks / d.clock;
  const double longest = rows * keys * score_clocks / d.clock;
  t.block_seconds = average + overhead;
  const double cool = BlocksSeconds(t.waves, average, longest, overhead);
  t.units_seconds =
      UnderPower(d, {.tensor = true,
                     .energy_width = p.energy_width,
                     .flops = (p.backward ? kBackwardWork : 1) * queries * p.visible *
                              (4 * head + kScoreFlops * VectorEnergy(d, p.energy_width)),
                     .rate = p.peak * efficiency,
                     .seconds = cool});
  t.hot_seconds = t.units_seconds - cool;
  return t;
}

AttentionTime PrefillTime(const TimingDevice& d, const AttentionProblem& p,
                          const Conditions& conditions) {
  AttentionTime t = FlashTime(d, p);
  const Operands elements = Elements(p);
  t.memory_bytes = elements.queries * p.query_bytes + elements.keys_values * p.key_value_bytes +
                   elements.output * 2;
  if (p.phase == AttentionPhase::kPrefill) {
    // Reads the projections, rotates, writes queries and the cache.
    const double queries = elements.queries * (2 + p.query_bytes);
    const double keys_values = elements.keys_values * (2 + p.key_value_bytes);
    t.prepare_bytes = queries + keys_values;
    t.prepare_seconds = BesideSeconds(d, conditions, t.prepare_bytes,
                                      kPrepareQueries * queries + kPrepareKeys * keys_values);
    // A kernel of its own, and one more that waits for the one before.
    t.launch_seconds += 2 * d[C::kLaunchGraph];
  }
  StreamMemory(d, conditions, t.memory_bytes + t.prepare_bytes, &t);
  const int beside = p.persistent ? 0 : KernelsOf(d, p).side_launches;
  t.launch_seconds += d[C::kLaunchAttention] + beside * d[C::kLaunchGraph];
  t.overlap = d[C::kKernelOverlap];
  t.seconds = t.prepare_seconds + Overlap(t.overlap, t.units_seconds, t.memory_seconds);
  return t;
}

// Two kernels beside the one that computes gradients: one sums gradient times result per row and
// clears the fp32 sums of the queries' gradients, one turns these into the operands' type.
AttentionTime BackwardTime(const TimingDevice& d, const AttentionProblem& p,
                           const Conditions& conditions) {
  AttentionTime t = FlashTime(d, p);
  const Operands elements = Elements(p);
  constexpr double kSum = 4;  // bytes
  t.memory_bytes = elements.queries * (p.query_bytes + 2 * kSum) + elements.output * p.query_bytes +
                   2 * elements.keys_values * p.key_value_bytes;
  t.prepare_bytes =
      2 * elements.output * p.query_bytes + elements.queries * (2 * kSum + p.query_bytes);
  t.prepare_seconds = BesideSeconds(d, conditions, t.prepare_bytes, t.prepare_bytes);
  StreamMemory(d, conditions, t.memory_bytes + t.prepare_bytes, &t);
  t.launch_seconds = d[C::kLaunchAttention] + 2 * d[C::kLaunchGraph];
  t.overlap = d[C::kKernelOverlap];
  t.seconds = t.prepare_seconds + Overlap(t.overlap, t.units_seconds, t.memory_seconds);
  return t;
}

// What one block of a decode kernel takes: `latency` seconds for a block alone on its unit, `rate`
// seconds per block and unit when many follow each other, and bytes per second on top, alone and
// of all that share a unit.
struct DecodeBlock {
  double latency, rate, fill, fill_together;
};

DecodeBlock SharedBlock(const TimingDevice& d, const AttentionProblem& p, double group) {
  const bool narrow = p.key_value_bytes <= 1;
  // The tile holds the group's queries, padded; head sizes are padded to powers of two.
  const double rows = RoundUp(group, narrow ? kNarrowRows : kWideRows);
  const AttentionConstants& kernel = d.library->attention;
  const double block =
      narrow ? kernel.block_overhead_8bit : kSharedStart * d[C::kDecodeBlockOverhead];
  const double overhead = block + rows * PaddedHead(p) * kernel.row_clocks / d.clock;
  const double fill = (narrow ? kernel.fill_8bit : kernel.fill) * d.clock;
  return {overhead, overhead, fill, fill};
}

DecodeBlock SingleBlock(const TimingDevice& d, const AttentionProblem& p) {
  const AttentionConstants& kernel = d.library->attention;
  const bool narrow = p.key_value_bytes <= 1;
  // Converting an 8-bit cache for 16-bit queries adds to the start of a block, and no other block
  // hides it.
  const bool converts = narrow && p.query_bytes > 1;
  const double rate =
      std::max(d[C::kDecodeBlockOverhead], converts ? kernel.block_overhead_8bit : 0.0);
  const double fill =
      (narrow ? kSingleFill8 * kernel.fill_8bit : kSingleFill * kernel.fill) * d.clock;
  return {kSingleResident * rate, rate, fill, kSingleTogether * fill};
}

AttentionTime DecodeTime(const TimingDevice& d, const AttentionProblem& p,
                         const Conditions& conditions) {
  AttentionTime t;
  const double group = p.heads / p.key_value_heads;
  t.blocks = (p.shared ? p.batch * p.key_value_heads : p.batch * p.heads) * p.parts;
  t.waves = t.blocks / d.units;
  const DecodeBlock block = p.shared ? SharedBlock(d, p, group) : SingleBlock(d, p);
  const double part_bytes = 2 * p.key_length / p.parts * p.head_size * p.key_value_bytes;
  t.block_seconds = block.latency + part_bytes / block.fill;
  t.units_seconds = t.block_seconds +
                    std::max(0.0, t.waves - 1) * (block.rate + part_bytes / block.fill_together);
  const Operands elements = Elements(p);
  const double own = (elements.queries + elements.output) * 2;
  t.memory_bytes = own + elements.keys_values * p.key_value_bytes;
  StreamMemory(d, conditions, t.memory_bytes, &t);
  const double cached = own + elements.keys_values * p.key_value_bytes * (p.shared ? 1 : group);
  t.cache_seconds = cached / CacheReadRate(d);
  t.launch_seconds = d[C::kLaunchAttention];
  if (p.parts > 1) t.split_seconds = d[C::kTileSplit];
  // A decode kernel only streams: as a product on matrix units it loads ahead of its arithmetic.
  t.overlap = d[C::kTensorOverlap];
  t.seconds = Overlap(t.overlap, t.stream_seconds(), t.memory_seconds) + t.split_seconds;
  return t;
}

}  // namespace

const AttentionConstants& KernelsOf(const TimingDevice& d, const AttentionProblem& p) {
  return Early(p) && p.phase != AttentionPhase::kDecode ? kFlashAttention2 : d.library->attention;
}

bool PacksHeads(const TimingDevice& d, const AttentionProblem& p) {
  if (p.key_value_bytes <= 1) return true;
  const double parts = std::max(1.0, std::floor(p.key_length / kMinPart));
  return kPackFactor * p.batch * p.key_value_heads * parts >= d.units;
}

double KeyParts(const TimingDevice& d, const AttentionProblem& p, bool shared, double serving) {
  if (!shared) {
    const double most = std::min(std::ceil(p.key_length / kMinPart), kMostParts);
    return std::max(1.0, std::min(std::floor(d.units / serving), most));
  }
  if (p.key_value_bytes <= 1 && !d.library->attention.splits_8bit) return 1;
  const double pieces = std::floor(p.key_length / kMinPart);
  const double parts = std::min(pieces, std::round(std::sqrt(kPartsRoot * pieces)));
  return std::max(1.0, std::min(parts, std::floor(kMostWaves * d.units / serving)));
}

AttentionTime TimeOfAttention(const TimingDevice& device, const AttentionProblem& problem,
                              const Conditions& conditions) {
  AttentionTime t = problem.backward ? BackwardTime(device, problem, conditions)
                    : problem.phase == AttentionPhase::kDecode
                        ? DecodeTime(device, problem, conditions)
                        : PrefillTime(device, problem, conditions);
  t.launch_seconds += device[C::kLaunchGraph];
  t.seconds += t.launch_seconds;
  return t;
}

}  // namespace dlcost
