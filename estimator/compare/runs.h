#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "estimator/compare/slots.h"

namespace dlcost {

// A row of a table that folds launches, as far as it tells how often the model ran.
struct FoldedRow {
  std::int64_t launches = 0;             // 0: the file does not tell
  bool product = false;                  // by its name
  std::optional<double> flops, seconds;  // of all launches
  bool fewer = false;    // of an algorithm that needs fewer products than the mathematics
  bool unknown = false;  // its name tells nothing: it may be a product, and may be no operator's
  bool foreign = false;  // no operator's, by its name
  bool marker = false;   // of a family that networks differ in (IsMarker)
};

// The factor that launches per run of all names have in common: kernels of several names do not all
// run an even number of times in one run. 1 where too few names tell.
std::int64_t RepeatsWithin(const std::vector<FoldedRow>& rows, std::int64_t runs);

struct RunCount {
  std::int64_t runs = 1;
  std::string from;      // how it is known, one clause
  bool by_work = false;  // it is what makes measured and predicted work, or time, equal
};

// How often the model ran: of all numbers that divide launches, the one that divides most of what
// the model may have launched (each row weighed by its work and its launches), and with which
// executed work, time and the number of launches per run come closest to the plan. Rows whose names
// tell nothing count as far as they may be products: work, time and launches of the products of a
// run lie between those with and without them. Kernels that start up or warm up need not be
// multiples. Where launches are not told, executed work, else time, over that of one run.
RunCount InferRuns(const std::vector<FoldedRow>& rows, const std::vector<Slot>& slots);

}  // namespace dlcost
