#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dlcost/device.h"
#include "dlcost/model.h"
#include "dlcost/options.h"

namespace dlcost::api {

// A step on the way to an expected time. Those of a higher level are what the one above is made of.
struct ExplainedTerm {
  int level = 0;
  std::string what;
  std::optional<double> value;  // in `unit`; none for a fact that is no number
  std::string unit;             // "s" for times: they combine. Others are facts: "FLOP", "B", "%"
  std::string text;             // a fact that is no number: "128 x 64"
  std::string reason;           // where it comes from; may be empty
};

// The expected time of one kernel, step by step (docs/timing.md).
class Explanation {
 public:
  std::string node() const;  // that names the kernel
  std::string kernel_id() const;
  std::vector<std::string> nodes() const;  // that it runs
  std::string algorithm() const;
  std::int64_t launches() const;
  std::int64_t bytes() const;           // of its operands
  std::int64_t executed_bytes() const;  // with what the algorithm moves beside them
  double expected_s() const;
  double expected_low_s() const, expected_high_s() const;  // four of five measurements lie between
  double bound_s() const;
  std::string limited_by() const;
  std::vector<ExplainedTerm> terms() const;  // the first is the whole time
  std::vector<std::string> advice() const;   // what would make it faster, most effect first

  std::string Text() const;
  std::string Json() const;  // schema dlcost.explain/2

  struct State;
  explicit Explanation(std::shared_ptr<const State> state);

 private:
  std::shared_ptr<const State> state_;
};

// The kernel of `node`; "": the one that takes longest. Throws Error for a node that the model does
// not have, with the nearest spelling, and for a kernel without an expected time.
Explanation Explain(const Model& model, const Device& device, const std::string& node = "",
                    const Bindings& bindings = {}, const Options& options = {});

}  // namespace dlcost::api
