#include <algorithm>
#include <cstdlib>

#include "estimator/core/integer.h"
#include "estimator/roofline/attention_time.h"
#include "estimator/roofline/choose.h"
#include "estimator/roofline/elementwise_time.h"
#include "estimator/roofline/gemm_time.h"
#include "estimator/roofline/part.h"
#include "estimator/roofline/terms.h"
#include "models/algorithms/attention.h"

namespace dlcost {
namespace {

// Keys that a query sees on average. A causal mask leaves half of them; (n + 1) / 2 differs where
// sequences are short and other things count more.
double VisibleKeys(const AttentionNest& nest) {
  if (nest.left < 0 && nest.right < 0) return nest.kv_len.AsDouble() * (nest.causal ? 0.5 : 1);
  return VisibleScores(nest).AsDouble() / std::max(nest.q_len, Count(1)).AsDouble();
}

// The first number of the device's compute capability, where cuDNN and FlashAttention come in.
constexpr int kFlashGeneration = 8, kCudnnGeneration = 9;
std::optional<int> GenerationOf(const Target& target) {
  const auto& capability = target.device.compute_capability;
  return capability ? std::optional(std::atoi(capability->c_str())) : std::nullopt;
}

// Whose kernels a call gets: those of FlashAttention-2 from compute capability 8.0 on, in 16 bits;
// from 9.0 on cuDNN's, as fast as any; else CUTLASS's, as FlashAttention came out. Who asks for
// FlashAttention-2 gets it where it has kernels.
// Source: PyTorch, aten/src/ATen/native/transformers/cuda/sdp_utils.cpp; traces of 2.11 on an H200.
AttentionForm FormOf(const Target& target, DType type) {
  const AttentionForm asked = target.options.attention;
  const bool called = asked == AttentionForm::kCalled;
  if (!called && asked != AttentionForm::kFlash2) return asked;
  const std::optional<int> generation = GenerationOf(target);
  if (Bits(type) != 16 || !generation) return AttentionForm::kFlash;
  if (called && *generation >= kCudnnGeneration) return AttentionForm::kFlash;
  return *generation >= kFlashGeneration ? AttentionForm::kFlash2 : AttentionForm::kFlash1;
}

// Whether a framework asks cuDNN for it.
bool IsCudnn(const Target& target, const Part& part, AttentionForm form) {
  return part.kernel.general && form == AttentionForm::kFlash && Bits(part.type) == 16 &&
         GenerationOf(target).value_or(0) >= kCudnnGeneration;
}

// FlashAttention-2 has a single query walk the keys in a tile of many, as prompts do; where heads
// leave units idle (flash_api.cpp, num_splits_heuristic: less than 0.8 of two blocks a unit), and
// over a cache, it takes a kernel that shares out the keys.
bool WalksAsPrompt(const Target& target, const AttentionProblem& p, bool cached) {
  constexpr double kFull = 0.8 * 2;
  return p.form == AttentionForm::kFlash2 && !cached &&
         p.batch * p.heads >= kFull * target.timing->units;
}

AttentionProblem AttentionProblemOf(const Target& target, const Part& part,
                                    const AttentionNest& whole, const ComputeUnit& unit) {
  const AttentionForm form = FormOf(target, part.type);
  const AttentionNest nest = WithoutUnseenKeys(whole);
  AttentionProblem p{.phase = AttentionPhase::kEncoder,
                     .causal = nest.causal,
                     .backward = nest.backward,
                     .batch = nest.batch.AsDouble(),
                     .query_length = nest.q_len.AsDouble(),
                     .key_length = nest.kv_len.AsDouble(),
                     .visible = VisibleKeys(nest),
                     .heads = nest.q_heads.AsDouble(),
                     .key_value_heads = std::max(nest.kv_heads, Count(1)).AsDouble(),
                     .head_size = (nest.qk_dim + nest.v_dim).AsDouble() / 2,
                     .query_bytes = unit.bytes,
                     .energy_width = unit.energy_width,
                     .key_value_bytes = unit.bytes,
                     .peak = unit.peak,
                     .tensor = unit.tensor,
                     .form = form};
  // Keys and values that are stored in fewer bits than they are multiplied in.
  const double queries = p.batch * p.heads * p.query_length * nest.qk_dim.AsDouble();
  const double keys = 2 * p.batch * p.key_value_heads * p.key_length * p.head_size;
  p.key_value_bytes =
      std::clamp((part.read - queries * p.query_bytes) / keys, 0.5, p.key_value_bytes);
  if (nest.left >= 0) {
    p.window = static_cast<double>(nest.left) + 1 +
               static_cast<double>(nest.causal ? 0 : std::max<std::int64_t>(nest.right, 0));
  }
  if (nest.backward) {
    p.key_value_bytes = unit.bytes;
    return p;
  }
  if (nest.cached) p.phase = AttentionPhase::kPrefill;
  p.persistent = IsCudnn(target, part, form);
  // One query over one key that it brings itself is a prompt of one token.
  const bool prompt = p.key_length == 1;
  if (p.query_length == 1 && !prompt) {
    p.visible = p.key_length;
    if (!WalksAsPrompt(target, p, nest.cached)) p.phase = AttentionPhase::kDecode;
  }
  return p;
}

AttentionProblem As(AttentionProblem p, const Execution& execution) {
  const TileGrid& grid = *execution.Grid();
  p.tile = grid.tile_m.AsDouble();
  p.shared = grid.batch.AsDouble() < p.batch * p.heads;
  p.parts = grid.split_k.AsDouble();
  return p;
}

// The fused kernel, in decode with the parts of the keys that the library takes.
Execution ChooseFused(const Target& target, const Part& part, const AttentionNest& nest,
                      const ComputeUnit& unit, const AttentionProblem* p) {
  AttentionOptions options{.pipe = unit.pipe(), .type = part.type};
  if (p != nullptr) options.kernels = &KernelsOf(*target.timing, *p);
  if (p != nullptr && p->phase == AttentionPhase::kDecode) {
    options.pack = PacksHeads(*target.timing, *p);
  }
  Execution whole = FlashAttention(nest, options, target.library);
  if (p == nullptr || whole.Grid() == nullptr || p->phase != AttentionPhase::kDecode) return whole;
  const AttentionProblem unsplit = As(*p, whole);
  const double serving = whole.Grid()->batch.AsDouble();
  options.split_kv = Count(Truncate(KeyParts(*target.timing, unsplit, unsplit.shared, serving)));
  return FlashAttention(nest, options, target.library);
}

void ExplainAttention(const Target& target, const AttentionProblem& p, const AttentionTime& t,
                      double extra_seconds, PartTime& time) {
  const bool decode = p.phase == AttentionPhase::kDecode;
  const TimingDevice& d = *target.timing;
  TermWriter terms(time.terms);
  terms.Fact("work",
             (p.backward ? 10 : 4) * p.batch * p.heads * p.query_length * p.visible * p.head_size,
             "FLOP",
             p.backward ? "five products, the scores again one of them"
                        : "scores and values, two products");
  terms.TimeIfAny("launch", time.launch);
  terms.TimeIfAny(p.backward ? "kernels beside it" : "kernel before it", t.prepare_seconds);
  TermWriter side =
      terms.Norm("together", Overlap(t.overlap, t.stream_seconds(), t.memory_seconds), t.overlap);
  TermWriter stream = decode ? side.Longest("units and cache", t.stream_seconds()) : side;
  stream.Time("all waves", t.units_seconds);
  TermWriter facts = stream.Below();
  facts.Fact("blocks", t.blocks, "",
             decode ? fmt::format("{}, keys in {:.0f} parts",
                                  p.shared ? "one per key-value head, its queries together"
                                           : "one per query head",
                                  p.parts)
                    : fmt::format("tiles of {:.0f} queries of one head", p.tile));
  facts.Fact("waves", t.waves, "", fmt::format("over {:.0f} units", d.units));
  facts.Fact("one block", 1e6 * t.block_seconds, "us", "products, exponentials, start");
  if (t.most < 1) {
    facts.Fact("share of peak", t.most, "",
               fmt::format("at most, in kernels of --attention {}", Name(p.form)));
  }
  stream.TimeIfAny("cache", t.cache_seconds);
  side.Time("device memory", t.memory_seconds);
  side.Below().Fact("bytes", t.memory_bytes, "B");
  terms.TimeIfAny("adding up parts of the keys", t.split_seconds);
  terms.TimeIfAny("further traffic", extra_seconds, "masks and other operands");
}

// Two products with a softmax between them, kernel by kernel.
PartTime MaterializedTime(const Target& target, const AttentionNest& nest, const ComputeUnit& unit,
                          const Execution& execution, const Conditions& conditions) {
  const double heads = (nest.batch * nest.q_heads).AsDouble();
  const double queries = nest.q_len.AsDouble(), keys = nest.kv_len.AsDouble();
  const TimingDevice& d = *target.timing;
  PartTime time;
  TermWriter terms(time.terms);
  const auto product = [&](const Stage& stage, double n, double k, const char* what) {
    const GemmProblem p{.batch = heads,
                        .m = queries,
                        .n = n,
                        .k = k,
                        .input_bytes = unit.bytes,
                        .energy_width = unit.energy_width,
                        .output_bytes = unit.bytes,
                        .tensor = unit.tensor,
                        .peak = unit.peak};
    const GemmTime t = GemmTimer(d, p, conditions).Tiled(*stage.grid);
    time.launch += t.launch_seconds;
    time.units += t.units_seconds;
    time.hot += t.hot_seconds;
    time.memory += t.memory_seconds;
    time.cache += t.cache_seconds;
    time.parts += t.split_seconds;
    time.seconds += t.seconds;
    terms.Time(what, t.seconds);
  };
  product(execution.stages[0], keys, nest.qk_dim.AsDouble(), "scores");
  const StreamProblem softmax{.kind = StreamKind::kSoftmax,
                              .bytes = 2 * heads * queries * keys * unit.bytes,
                              .rows = heads * queries,
                              .row_elements = keys,
                              .element_bytes = unit.bytes};
  const StreamTime s = ExpectedStream(d, softmax, conditions);
  time.launch += s.launch_seconds;
  time.memory += s.memory_seconds;
  time.seconds += s.seconds;
  terms.Time("softmax", s.seconds);
  product(execution.stages[2], nest.v_dim.AsDouble(), keys, "values");
  if (!target.options.explain) time.terms.clear();
  return time;
}

}  // namespace

PartRun RunAttention(const Target& target, const Part& part, const AttentionNest& nest) {
  PartRun run;
  if (MacsOf(nest) == Count(0)) return run;
  const std::optional<ComputeUnit> unit = FindUnit(target, part.type);
  const bool timed = unit && target.timing != nullptr;
  const Conditions conditions = ConditionsOf(target, part);
  const bool fused =
      nest.backward || !Materializes(target.options.attention, part.type, nest.q_len);
  run.runner_up = nest.backward ? "" : fused ? "materialized" : "flash";
  std::optional<AttentionProblem> p;
  if (timed) p = AttentionProblemOf(target, part, nest, *unit);
  const Constant range =
      nest.q_len == Count(1) ? Constant::kRangeDecode : Constant::kRangeAttention;
  if (!fused) {
    AttentionOptions options{.pipe = unit.value_or(ComputeUnit()).pipe(), .type = part.type};
    const GemmNest scores{
        .batch = nest.batch * nest.q_heads, .m = nest.q_len, .n = nest.kv_len, .k = nest.qk_dim};
    options.tile = ChooseTile(
        scores,
        options.pipe == Pipe::kTensor ? target.library.gemm_tensor : target.library.gemm_vector,
        target.device);
    run.execution = MaterializedAttention(nest, options, target.library);
    if (timed) {
      run.time = MaterializedTime(target, nest, *unit, run.execution, conditions);
      run.time->range = (*target.timing)[range];
    }
    return run;
  }
  run.execution = ChooseFused(target, part, nest, unit.value_or(ComputeUnit()), p ? &*p : nullptr);
  if (!timed) return run;
  const AttentionProblem chosen = As(*p, run.execution);
  const AttentionTime t = TimeOfAttention(*target.timing, chosen, conditions);
  // What the kernel moves beyond the operands: masks, and a cache that it writes.
  const double own = t.memory_bytes + (nest.backward ? t.prepare_bytes : 0);
  const double extra = std::max(0.0, part.bytes() - own) /
                       (target.timing->memory_rate * (*target.timing)[Constant::kMemorySustained]);
  PartTime& time = run.time.emplace();
  time.launch = t.launch_seconds;
  time.units = t.units_seconds;
  time.hot = t.hot_seconds;
  time.memory = t.memory_seconds + extra;
  time.cache = t.cache_seconds;
  time.apart = t.prepare_seconds;
  time.parts = t.split_seconds;
  time.seconds = t.seconds + extra;
  time.range = (*target.timing)[range];
  if (target.options.explain) ExplainAttention(target, chosen, t, extra, time);
  return run;
}

}  // namespace dlcost
