#include "models/algorithms/counters.h"

namespace dlcost {
namespace {

void Add(CounterReading& reading, const Term& term) {
  const Instructions& i = term.instructions;
  if (term.pipe == Pipe::kTensor) {
    reading.tensor_flops += i.flops();
    return;
  }
  switch (term.type) {
    case DType::kFloat64:
      reading.flop_count_dp += i.flops();
      reading.dadd += i.add;
      reading.dmul += i.mul;
      reading.dfma += i.fma;
      return;
    case DType::kFloat16:
    case DType::kBfloat16:
      reading.flop_count_hp += i.flops();
      reading.hadd += i.add;
      reading.hmul += i.mul;
      reading.hfma += i.fma;
      return;
    case DType::kFloat32:
      reading.flop_count_sp += i.flops();
      reading.flop_count_sp_special += i.special;
      reading.fadd += i.add;
      reading.fmul += i.mul;
      reading.ffma += i.fma;
      return;
    default:
      return;  // integer products (dp4a) are no floating-point instructions
  }
}

}  // namespace

CounterReading ReadCounters(const Stage& stage) {
  CounterReading reading;
  for (const Term& term : stage.terms) Add(reading, term);
  return reading;
}

CounterReading ReadCounters(const Execution& execution) {
  CounterReading reading;
  for (const Stage& stage : execution.stages) {
    for (const Term& term : stage.terms) Add(reading, term);
  }
  return reading;
}

Count TensorInstructions(const CounterReading& reading, int flops_per_instruction) {
  if (flops_per_instruction <= 0) return 0;
  return CeilDiv(reading.tensor_flops.count(), flops_per_instruction);
}

}  // namespace dlcost
