#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dlcost/report.h"

namespace dlcost::api {

// One thing that somebody did to the model, and what came of it.
struct Change {
  std::string kind;   // input, precision, changed, added, removed, replaced or moved
  std::string where;  // a node, or what several have in common
  std::string what;   // "strides 1,1 -> 2,2"
  std::vector<std::string> before, after;       // the nodes
  std::int64_t macs = 0, flops = 0, bytes = 0;  // more than before, at these nodes
  std::int64_t followers = 0;                   // nodes that only see other shapes because of it
};

// The difference of two reports (docs/report.md).
class Difference {
 public:
  std::vector<Change> changes() const;  // the largest effect first
  std::int64_t same() const;            // nodes without a difference
  std::vector<std::string> notes() const;
  std::string Text(std::size_t top = 0) const;
  std::string Json() const;  // schema dlcost.diff/1
  std::string Markdown() const;
  // One page of both reports (Page of report.h).
  std::string Html(const std::string& title = "") const;

  struct State;
  explicit Difference(std::shared_ptr<const State> state);

 private:
  std::shared_ptr<const State> state_;
};

Difference Compare(const Report& before, const Report& after);

// What a model may cost (docs/ci.md). Without any limit, nothing may grow.
struct Limits {
  std::vector<std::string> max;      // "macs=+2%", "bytes[scope:layer4]=40 MB", "bound_s=1.5 ms"
  std::vector<std::string> fits_on;  // devices whose memory must hold weights and activations
  bool forbid_new_operators = false;
  bool strict = false;  // nothing may be unknown
  bool exact = false;   // nothing may be unknown, at most or assumed
};

// One requirement and how it stands.
struct Requirement {
  std::string name, detail;
  bool passed = true;
  std::optional<double> value, baseline, allowed;  // in base units
  std::vector<std::string> offenders;              // what made it fail, the largest part first
};

class Verdict {
 public:
  bool passed() const;
  std::vector<Requirement> requirements() const;
  std::string Text() const;
  std::string Json() const;  // schema dlcost.check/1
  std::string Markdown() const;
  std::string Junit() const;

  struct State;
  explicit Verdict(std::shared_ptr<const State> state);

 private:
  std::shared_ptr<const State> state_;
};

// Throws Error when a limit needs a baseline or a device that is not there.
Verdict Check(const Report& report, const std::optional<Report>& baseline,
              const Limits& limits = {});

}  // namespace dlcost::api
