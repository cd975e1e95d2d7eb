#include "estimator/roofline/recurrent_time.h"

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

}  // namespace

double GatesSeconds(const TimingDevice& device, const RecurrentProblem& p) {
  // Gates in, state in and out; small enough to stay in the cache.
  const double bytes = (p.gates + 3) * p.batch * p.hidden * p.element_bytes;
  return device[C::kLaunchGraph] + bytes / CacheRate(device);
}

bool FitsRegisters(const RecurrentProblem& p) {
  return WeightBytes(p) <= p.register_bytes * kRegisterShare;
}

StepTime PersistentStep(const TimingDevice& device, const RecurrentProblem& p) {
  const double efficiency = device[p.tensor ? C::kTensorEfficiency : C::kVectorEfficiency];
  const double arithmetic = 2 * p.gates * p.hidden * p.hidden * p.batch / (p.peak * efficiency);
  const double state = p.batch * p.hidden * p.element_bytes * (1 + device.units);
  return {arithmetic + state / CacheRate(device), kBarrierTrips * device[C::kMemoryLatency]};
}

}  // namespace dlcost
