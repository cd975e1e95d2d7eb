#pragma once

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "estimator/report/report.h"

namespace dlcost {

// What a report tells of a node, as keys and values for viewers of the model's own file:
// "dlcost.flops", "dlcost.bytes", and with a device of the node that names a kernel
// "dlcost.expected". Needs ReportDetail::kOperands.
class NodeRemarks {
 public:
  explicit NodeRemarks(const Report& report);

  // Of the node of this operator that makes this tensor; none where the report knows another or
  // none: a call of a local function is many nodes.
  std::vector<std::pair<std::string, std::string>> Of(const std::string& op,
                                                      const std::string& output) const;
  // Of the whole model.
  std::vector<std::pair<std::string, std::string>> OfModel() const;

 private:
  const Report& report_;
  std::unordered_map<std::string, std::size_t> by_output_;  // indices into Report::nodes
  std::unordered_map<std::string, const KernelRow*> kernels_;
};

}  // namespace dlcost
