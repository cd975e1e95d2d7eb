#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "estimator/infer/infer.h"
#include "estimator/sweep/region.h"

namespace dlcost {

// A size that is told as an expression of others: {"target", "source"}, {"total", "past + seq"}.
using TiedDims = std::map<std::string, std::string>;

// The sizes that a model and its options leave open, and how a point binds them.
class ModelVariables {
 public:
  // `options.bindings` fixes what it binds. Throws Error where no sizes are found that fit
  // together.
  static ModelVariables Of(const Model& model, const InferOptions& options, const TiedDims& tied);

  // In the order of the inputs, the batch first.
  const std::vector<std::string>& names() const { return names_; }
  const Point& base() const { return base_; }  // sizes that the model takes
  Point& base() { return base_; }
  // Index of a variable; throws Error with the nearest spelling.
  std::size_t IndexOf(const std::string& name) const;
  // Those given, and the point.
  Bindings At(const Point& point) const;

 private:
  Bindings given_;
  TiedDims tied_;
  std::vector<std::string> names_;
  std::set<std::string> own_;  // names that the model itself has; others come from ties alone
  Point base_;
  bool batch_ = false;  // the first variable is what --batch sets
};

}  // namespace dlcost
