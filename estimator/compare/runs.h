#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "estimator/compare/slots.h"

namespace dlcost {

// A row of a table that folds launches, as far as it tells how often the model ran.
struct FoldedRow {
  std::int64_t launches = 0;  // 0: the file does not tell
  bool product = false;
  std::optional<double> flops, seconds;  // of all launches
  bool fewer = false;  // of an algorithm that needs fewer products than the mathematics
};

struct RunCount {
  std::int64_t runs = 1;
  std::string from;      // how it is known, one clause
  bool by_work = false;  // it is what makes measured and predicted work, or time, equal
};

// How often the model ran: of all numbers that divide launches of the products (one that divides
// all of them says most, each weighed by its work), the one with which executed work, time and the
// number of launches per run come closest to the plan. Kernels that start up or warm up need not be
// multiples. Where launches are not told, executed work, else time, over that of one run.
RunCount InferRuns(const std::vector<FoldedRow>& rows, const std::vector<Slot>& slots);

}  // namespace dlcost
