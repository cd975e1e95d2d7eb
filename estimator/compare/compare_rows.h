#pragma once

#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "estimator/compare/compare.h"

namespace dlcost {

// Makes the rows of a comparison: what the report predicts beside what was measured for it.
class RowMaker {
 public:
  // Both outlive this.
  RowMaker(const Report& report, const std::optional<Device>& device);

  // Of the kernel at index k of the report. `level`: that the measured time is of; `files`: where
  // to find those of the levels above.
  CompareRow Row(std::size_t k, const Measured& measured, TraceLevel level,
                 const std::vector<FileLevels>& files) const;
  // Of kernels that a table cannot tell apart.
  CompareRow SharedRow(const Joined::Shared& group, TraceLevel level) const;
  // Of a kernel that nothing was measured for; nothing where there is nothing to measure: a view,
  // or known before the run.
  std::optional<UnmatchedNode> Unmatched(std::size_t k) const;

 private:
  // Of one run of the kernel, where it is in a loop.
  Bytes MemoryOf(const KernelRow& kernel, const Execution* execution) const;
  // The predicted side of a kernel.
  CompareRow Predicted(std::size_t k, TraceLevel level) const;
  // Algorithm and tile as the kernel's name tells them.
  void SetExecution(CompareRow& row, const KernelRow& kernel) const;
  // What follows from both sides: ratios, shares of the roofs, the reason of the difference.
  void Finish(CompareRow& row) const;

  const Report& report_;
  const std::optional<Device>& device_;
  std::unordered_map<std::string_view, const NodeRow*> nodes_;  // by name
};

}  // namespace dlcost
