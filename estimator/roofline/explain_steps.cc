#include "estimator/roofline/explain_steps.h"

#include <fmt/format.h>

#include <cmath>

#include "estimator/roofline/attention_time.h"
#include "estimator/roofline/conv_time.h"
#include "estimator/roofline/elementwise_time.h"
#include "estimator/roofline/gemm_time.h"
#include "estimator/roofline/recurrent_time.h"

namespace dlcost {
namespace {

std::string Time(double seconds) {
  if (seconds >= 1) return fmt::format("{:.4g} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.4g} ms", seconds * 1e3);
  return fmt::format("{:.4g} us", seconds * 1e6);
}

std::string Scaled(double value, const char* unit) {
  const char* prefixes[] = {"", "k", "M", "G", "T", "P", "E"};
  int i = 0;
  while (value >= 1000 && i < 6) {
    value /= 1000;
    ++i;
  }
  return fmt::format("{:.4g} {}{}", value, prefixes[i], unit);
}

std::string Percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

void Step(Expected& result, std::string what, std::string value, std::string reason = "") {
  result.steps.push_back({std::move(what), std::move(value), std::move(reason)});
}

// The largest of the parts names the limiter.
void Limit(Expected& result, double units, double memory, double cache, double launch) {
  result.limiter = "units";
  double most = units;
  const auto raise = [&](double part, const char* name) {
    if (part > most) {
      most = part;
      result.limiter = name;
    }
  };
  raise(memory, "memory");
  raise(cache, "cache");
  raise(launch, "launch");
  if (result.limiter == std::string("launch")) {
    result.advice.push_back(
        "The launch takes longer than the work: larger batches, fusion or CUDA graphs help.");
  } else if (result.limiter == std::string("memory")) {
    result.advice.push_back(
        "Device memory is the limit: fewer bytes (fusion, narrower types) help, more FLOP/s do "
        "not.");
  }
}

void WaveSteps(Expected& result, double tiles, double waves, double units) {
  const double last = tiles / units - (waves - 1);
  Step(result, "waves", fmt::format("ceil({:.0f} / {:.0f}) = {:.0f}", tiles, units, waves),
       fmt::format("the last one fills {} of the units", Percent(last)));
  const double lost = 1 - tiles / units / waves;
  if (lost > 0.1) {
    result.advice.push_back(
        fmt::format("Up to {} of the units' time is idle in the last wave: {:.0f} tiles on {:.0f} "
                    "units.",
                    Percent(lost), tiles, units));
  }
}

void PaddingAdvice(Expected& result, double padding) {
  if (padding > 0.1) {
    result.advice.push_back(fmt::format(
        "{} of the executed arithmetic pads tiles: sizes that are multiples of the tile avoid it.",
        Percent(padding)));
  }
}

// What overlaps takes longer than its longest part (Overlap).
void TogetherStep(Expected& result, double seconds, double exponent) {
  Step(result, "together", Time(seconds),
       fmt::format("their {:.3g}-norm, as they overlap", exponent));
}

void TileSteps(const TimingDevice& d, const GemmProblem& p, const GemmTime& t, Expected& result) {
  Step(result, "tile", fmt::format("{} x {}", t.tile.rows, t.tile.columns),
       "the fastest of the tiles that libraries ship");
  Step(
      result, "tiles", fmt::format("{:.0f}", t.tiles),
      fmt::format("{:.0f} x {:.0f} x {:.0f}{}; {} of the executed arithmetic is padding", p.batch,
                  std::ceil(p.m / t.tile.rows), std::ceil(p.n / t.tile.columns),
                  t.split > 1 ? fmt::format(" x {} parts of k", t.split) : "", Percent(t.padding)));
  WaveSteps(result, t.tiles, t.waves, d.units);
  Step(result, "efficiency", Percent(t.efficiency),
       fmt::format("of {} in the main loop", Scaled(p.peak, "FLOP/s")));
  if (t.busy < 1) {
    Step(result, "units kept busy", Percent(t.busy), "the tile is too small for one unit");
  }
  Step(result, "one tile", Time(t.tile_seconds), "arithmetic, operands, result, start");
  Step(result, "all waves", Time(t.units_seconds));
}

}  // namespace

void ExplainGemm(const TimingDevice& d, const GemmProblem& p, const Conditions& conditions,
                 const GemmTime& t, Expected& result) {
  Step(result, "work", Scaled(2 * p.batch * p.m * p.n * p.k, "FLOP"),
       fmt::format("2 x {:.0f} x {:.0f} x {:.0f} x {:.0f} (batch, m, n, k)", p.batch, p.m, p.n,
                   p.k));
  if (t.tile.rows == 1) {
    Step(result, "kernel", "matrix-vector", "every unit streams its share of the matrix");
    Step(result, "arithmetic", Time(t.units_seconds),
         fmt::format("at {} of {}", Percent(t.efficiency), Scaled(p.peak, "FLOP/s")));
  } else {
    TileSteps(d, p, t, result);
  }
  Step(result, "device memory", Scaled(t.memory_bytes, "B"),
       t.reread_bytes > 0
           ? fmt::format("{} of it read again along the tile walk", Scaled(t.reread_bytes, "B"))
           : (conditions.kept_rest == 0 ? "operands and result once, cold cache"
                                        : "what the cache does not hold"));
  Step(result, "memory time", Time(t.memory_seconds),
       fmt::format("at {} of {}", Percent(d[Constant::kMemorySustained]),
                   Scaled(d.memory_rate, "B/s")));
  Step(result, "cache time", Time(t.cache_seconds), Scaled(t.cache_bytes, "B") + " of tiles");
  const double together = t.seconds - t.launch_seconds - t.prepare_seconds - t.split_seconds;
  if (t.tile.rows == 1) {
    Step(result, "together", Time(together), "the longest of them");
  } else {
    TogetherStep(result, together,
                 d[p.tensor ? Constant::kTensorOverlap : Constant::kVectorOverlap]);
  }
  if (t.split_seconds > 0) Step(result, "adding up parts", Time(t.split_seconds));
  if (t.prepare_seconds > 0) Step(result, "kernels before it", Time(t.prepare_seconds));
  Limit(result, t.units_seconds, t.memory_seconds, t.cache_seconds, t.launch_seconds);
  PaddingAdvice(result, t.padding);
  if (!p.tensor && p.input_bytes == 4) {
    result.advice.push_back(
        "fp32 runs on vector units: --math tf32 or a 16-bit type would use matrix units where the "
        "device has them.");
  }
}

void ExplainConv(const TimingDevice& d, const ConvProblem& p, const ConvTime& t, Expected& result) {
  const double work = 2 * p.batch * p.filters * p.out_height * p.out_width * p.channels / p.groups *
                      p.kernel_height * p.kernel_width;
  Step(result, "work", Scaled(work, "FLOP"), "2 x output positions x filters x taps");
  Step(result, "products",
       fmt::format("{:.0f} of {:.0f} x {:.0f} x {:.0f}", t.batch, t.m, t.n, t.k),
       "batch of m x n x k");
  Step(result, "tile", fmt::format("{} x {}", t.tile.rows, t.tile.columns));
  Step(result, "tiles", fmt::format("{:.0f}", t.tiles));
  WaveSteps(result, t.tiles, t.waves, d.units);
  Step(result, "executed", Scaled(t.executed_flops, "FLOP"),
       fmt::format("{} of the work", Percent(t.executed_flops / work)));
  Step(result, "all waves", Time(t.units_seconds));
  Step(result, "device memory", Scaled(t.memory_bytes, "B"));
  Step(result, "memory time", Time(t.memory_seconds));
  const bool as_product = p.tensor || t.method == ConvMethod::kSplitGemm;
  TogetherStep(result, t.seconds - t.launch_seconds - t.transform_seconds,
               d[!as_product ? Constant::kConvOverlap
                 : p.tensor  ? Constant::kTensorOverlap
                             : Constant::kVectorOverlap]);
  if (t.transform_seconds > 0) Step(result, "transforms through memory", Time(t.transform_seconds));
  Limit(result, t.units_seconds, t.memory_seconds + t.transform_seconds, 0, t.launch_seconds);
  PaddingAdvice(result, 1 - 2 * t.batch * t.m * t.n * t.k / t.executed_flops);
}

void ExplainAttention(const TimingDevice& d, const AttentionProblem& p, const AttentionTime& t,
                      double extra_seconds, Expected& result) {
  const double share = p.causal && p.query_length > 1 ? 0.5 : 1;
  Step(result, "work",
       Scaled(4 * share * p.batch * p.heads * p.query_length * p.key_length * p.head_size, "FLOP"),
       "scores and values, two products");
  if (p.phase == AttentionPhase::kDecode) {
    Step(result, "blocks", fmt::format("{:.0f}", t.blocks),
         fmt::format(
             "{}, keys in {:.0f} parts",
             t.shared ? "one per key-value head, its queries together" : "one per query head",
             t.parts));
  } else {
    Step(result, "blocks", fmt::format("{:.0f}", t.blocks),
         fmt::format("tiles of {} queries of one head", t.block_queries));
  }
  WaveSteps(result, t.blocks, std::ceil(t.blocks / d.units), d.units);
  Step(result, "one block", Time(t.block_seconds), "products, exponentials, start");
  Step(result, "all waves", Time(t.units_seconds));
  Step(result, "device memory", Scaled(t.memory_bytes, "B"));
  Step(result, "memory time", Time(t.memory_seconds));
  const bool decode = p.phase == AttentionPhase::kDecode;
  if (decode) Step(result, "cache time", Time(t.cache_seconds));
  TogetherStep(result, t.seconds - t.launch_seconds - t.prepare_seconds - t.split_seconds,
               d[decode ? Constant::kDecodeOverlap : Constant::kAttentionOverlap]);
  if (t.split_seconds > 0) Step(result, "adding up parts", Time(t.split_seconds));
  if (t.prepare_seconds > 0) Step(result, "kernel before it", Time(t.prepare_seconds));
  if (extra_seconds > 0) Step(result, "further traffic", Time(extra_seconds));
  Limit(result, t.units_seconds, t.memory_seconds + extra_seconds, t.cache_seconds,
        t.launch_seconds);
}

void ExplainStream(const StreamProblem& p, const StreamTime& t, Expected& result) {
  Step(result, "traffic", Scaled(p.bytes, "B"), "read and written");
  Step(result, "from device memory", Percent(t.miss), "the rest is in the cache");
  Step(result, "rate", Scaled(t.rate, "B/s"), "sustained for this kind of kernel");
  Step(result, "memory time", Time(t.memory_seconds));
  if (t.arithmetic_seconds > 0) Step(result, "arithmetic", Time(t.arithmetic_seconds));
  Step(result, "units' share of the bandwidth", Time(t.fill_seconds));
  Limit(result, std::fmax(t.fill_seconds, t.arithmetic_seconds), t.memory_seconds, 0,
        t.launch_seconds);
}

void ExplainRecurrent(const RecurrentProblem& p, const GemmTime& inputs, const RecurrentTime& t,
                      double directions, Expected& result) {
  Step(result, "all inputs in one product", Time(inputs.seconds));
  Step(result, "one step's product", Time(t.product_seconds),
       t.persistent ? "weights stay in registers" : "weights come from the cache every step");
  Step(result, t.persistent ? "synchronization of a step" : "one step's pointwise kernel",
       Time(t.pointwise_seconds));
  Step(result, "steps", fmt::format("{:.0f} x {}", p.steps, Time(t.step_seconds)));
  if (directions > 1) Step(result, "directions", fmt::format("{:.0f}", directions));
  Limit(result, result.units, result.memory, 0, inputs.launch_seconds + t.launch_seconds);
  if (!t.persistent) {
    result.advice.push_back("Steps run one after the other: larger batches make each one fuller.");
  }
}

void ExplainPower(const TimingDevice& d, double limit, double seconds, Expected& result) {
  Step(result, "at sustained power", Time(seconds),
       fmt::format("{:.4g} W carry {} while kernels follow each other", d.power,
                   Scaled(limit, "FLOP/s")));
}

void ExplainTotal(Expected& result, double repeats, double log_range) {
  Step(result, "launch", Time(result.launch));
  if (repeats > 1) Step(result, "times", fmt::format("{:.0f}", repeats));
  Step(result, "expected", Time(result.time.expected),
       fmt::format("{} to {} in four of five cases (x or / {:.2f})", Time(result.time.low),
                   Time(result.time.high), std::exp(log_range)));
}

}  // namespace dlcost
