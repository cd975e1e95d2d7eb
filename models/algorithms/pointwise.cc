#include "models/algorithms/pointwise.h"

#include <array>

namespace dlcost {
namespace {

struct Expansion {
  OpClass op_class;
  Instructions instructions;
};

// Typical sequences for fp32 without fast-math: a special-function instruction for the first
// approximation, FMAs that refine it or reduce the argument (CUDA C++ Programming Guide, tables of
// arithmetic instructions and of the accuracy of standard functions). Polynomials of trigonometric
// and error functions are taken at degree eight.
constexpr std::array<Expansion, 7> kExpansions = {{
    {OpClass::kAdd, {.add = 1}},
    {OpClass::kMul, {.mul = 1}},
    {OpClass::kDiv, {.fma = 4, .mul = 1, .special = 1}},
    {OpClass::kSqrt, {.fma = 2, .mul = 2, .special = 1}},
    {OpClass::kExp, {.fma = 2, .mul = 1, .special = 1}},
    {OpClass::kLog, {.fma = 8, .add = 1, .mul = 1}},
    {OpClass::kTrig, {.fma = 8, .mul = 1, .special = 1}},
}};

}  // namespace

Instructions InstructionsOf(const Work& work, DType type) {
  Instructions sum;
  for (const Expansion& expansion : kExpansions) {
    sum += expansion.instructions * work.Of(expansion.op_class, type);
  }
  return sum;
}

void AddPointwise(Execution& execution, const std::string& what, TermKind kind, const Work& work) {
  if (execution.stages.empty()) execution.stages.push_back({.name = what});
  for (const Work::Entry& entry : work.entries()) {
    const Instructions instructions = InstructionsOf(work, entry.dtype);
    if (instructions == Instructions{}) continue;
    execution.stages.back().terms.push_back(
        {.what = what, .kind = kind, .type = entry.dtype, .instructions = instructions});
  }
}

Execution Pointwise(Algorithm algorithm, const std::string& what, const Work& work) {
  Execution execution{.algorithm = algorithm, .name = std::string(Name(algorithm))};
  execution.stages.push_back({.name = what});
  AddPointwise(execution, what, TermKind::kPointwise, work);
  return execution;
}

}  // namespace dlcost
