#pragma once

#include "models/algorithms/execution.h"

namespace dlcost {

// What profilers would show for a kernel. Instruction counters see the vector pipe alone: a kernel
// on matrix units shows its epilogue and its layout conversions there and nothing else.
struct CounterReading {
  // nvprof: flop_count_sp, _dp, _hp. An FMA is two; special-function instructions count apart
  // (flop_count_sp_special).
  Flops flop_count_sp, flop_count_dp, flop_count_hp;
  Count flop_count_sp_special;
  // Nsight Compute: smsp__sass_thread_inst_executed_op_{fadd,fmul,ffma}_pred_on.sum, and the
  // double precision (d) and half precision (h) ones.
  Count fadd, fmul, ffma;
  Count dadd, dmul, dfma;
  Count hadd, hmul, hfma;
  // What matrix units did, in none of the above.
  Flops tensor_flops;
};

CounterReading ReadCounters(const Stage& stage);
CounterReading ReadCounters(const Execution& execution);

// sm__inst_executed_pipe_tensor*: matrix instructions, when each does `flops_per_instruction`
// (Library::tensor_flops_per_instruction). Zero when that is not known.
Count TensorInstructions(const CounterReading& reading, int flops_per_instruction);

}  // namespace dlcost
