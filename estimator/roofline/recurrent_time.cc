#include "estimator/roofline/recurrent_time.h"

#include "estimator/roofline/gemm_time.h"

namespace dlcost {
namespace {

using C = Constant;

// Registers also hold the state and the compiler's temporaries; half of them are left for weights.
constexpr double kRegisterShare = 0.5;
// A barrier over all units between steps is two trips to the last-level cache.
constexpr double kBarrierTrips = 2;

double WeightBytes(const RecurrentProblem& p) {
  return p.gates * p.hidden * p.hidden * p.element_bytes;
}

double LaunchSeconds(const TimingDevice& d, const Conditions& conditions) {
  return d[conditions.eager ? C::kLaunchEager : C::kLaunchGraph];
}

}  // namespace

RecurrentTime ExpectedRecurrentSteps(const TimingDevice& device, const RecurrentProblem& p,
                                     const Conditions& conditions) {
  RecurrentTime t;
  // Within a layer the kernels follow each other from the library, without the framework.
  Conditions step = conditions;
  step.eager = false;
  step.kept_weights = step.kept_rest = 1;
  step.weight_copies = 1;
  const GemmTime product = ExpectedGemm(device,
                                        {.m = p.batch,
                                         .n = p.gates * p.hidden,
                                         .k = p.hidden,
                                         .input_bytes = p.element_bytes,
                                         .output_bytes = p.element_bytes,
                                         .tensor = p.tensor,
                                         .peak = p.peak},
                                        step);
  t.product_seconds = product.seconds;
  // Gates in, state in and out; small enough to stay in the cache.
  const double bytes = (p.gates + 3) * p.batch * p.hidden * p.element_bytes;
  t.pointwise_seconds = device[C::kLaunchGraph] + bytes / CacheRate(device);
  t.step_seconds = t.product_seconds + t.pointwise_seconds;
  t.launch_seconds = LaunchSeconds(device, conditions);
  t.seconds = t.launch_seconds + p.steps * t.step_seconds;
  return t;
}

RecurrentTime ExpectedPersistent(const TimingDevice& device, const RecurrentProblem& p,
                                 const Conditions& conditions) {
  RecurrentTime t;
  t.persistent = true;
  if (WeightBytes(p) > p.register_bytes * kRegisterShare) return t;
  const double efficiency = device[p.tensor ? C::kTensorEfficiency : C::kVectorEfficiency];
  const double arithmetic = 2 * p.gates * p.hidden * p.hidden * p.batch / (p.peak * efficiency);
  const double state = p.batch * p.hidden * p.element_bytes * (1 + device.units);
  t.product_seconds = arithmetic + state / CacheRate(device);
  t.pointwise_seconds = kBarrierTrips * device[C::kMemoryLatency];
  t.step_seconds = t.product_seconds + t.pointwise_seconds;
  t.launch_seconds = LaunchSeconds(device, conditions);
  t.seconds = t.launch_seconds + p.steps * t.step_seconds;
  return t;
}

}  // namespace dlcost
