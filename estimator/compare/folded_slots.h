#pragma once

#include <optional>
#include <set>
#include <vector>

#include "estimator/compare/slots.h"
#include "estimator/compare/tally.h"

namespace dlcost {

// Which slots the rows of a table belong to that folds launches by kernel name. Everything is per
// row of the table.
struct FoldedSlots {
  std::vector<KernelName> told;
  std::vector<bool> perhaps;  // no name says that it is a product, but its work does
  // The slots that the row's launches ran, alone or together with rows that have the same ones;
  // empty: none. Two rows have all of them in common or none.
  std::vector<std::vector<std::size_t>> slots;
  std::set<std::size_t> narrowed;  // rows whose slots their executed work alone tells

  // Whether the row's launches may be products: by its name, or by their work.
  bool IsWork(std::size_t row) const;
};

// `runs`: how often the model ran in it.
FoldedSlots FindFoldedSlots(const Report& report, const std::vector<Slot>& slots,
                            const std::vector<MeasuredKernel>& rows,
                            const std::optional<Device>& device, double runs, Tally& tally);

}  // namespace dlcost
