#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "estimator/profiles/measurement.h"
#include "estimator/report/report.h"

namespace dlcost {

// Finds the predicted kernel of a name that a runtime gave: the node's name, that name as the
// runtime decorated it when it fused or rewrote the node, an output of the node, or the module
// around it.
class NodeNames {
 public:
  explicit NodeNames(const Report& report);

  struct Match {
    std::size_t kernel;  // index into Report::kernels
    std::string how;     // "name", "name of a fused node", "output", "scope"
    double confidence;
  };
  std::optional<Match> Find(const std::string& name) const;
  // The node that a row names: by its operator, or by the innermost range around it that names one.
  std::optional<Match> Of(const MeasuredKernel& kernel) const;
  // Whether a name is written as exporters name nodes: "/encoder/0/MatMul_1".
  static bool IsSpelledAsNode(std::string_view name);
  // Whether a name that is not found is one that runtimes give to what they insert: copies, casts,
  // layout changes, fused nodes.
  bool MayBeInserted(const std::string& name) const;
  // Why a name that is not found is not there.
  std::string WhyUnknown(const std::string& name) const;

 private:
  std::unordered_map<std::string, std::size_t> nodes_, outputs_, scopes_;
};

}  // namespace dlcost
