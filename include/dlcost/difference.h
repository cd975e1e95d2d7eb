#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dlcost/report.h"
#include "dlcost/sweep.h"
#include "dlcost/system.h"

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
  std::string Markdown(std::size_t top = 0) const;
  // One page of both reports (Page of report.h).
  std::string Html(const std::string& title = "") const;

  struct State;
  explicit Difference(std::shared_ptr<const State> state);

 private:
  std::shared_ptr<const State> state_;
};

Difference Compare(const Report& before, const Report& after);

// What is compared: one of a file, which is a model or a report, or what was read or made already;
// and how a model is counted.
struct DiffSide {
  std::string path;
  std::optional<Report> report;
  std::optional<Model> model;
  std::optional<Device> device;
  Bindings bindings;
  Options options;
};
// A dimension may be one that only one of them has. `alike`: where one is a report, what the
// options of the other leave open (its device, sizes, conventions, training) is as there. Throws
// Error for a dimension that neither has, and for a report that is not of the given device.
Difference CompareAs(const DiffSide& before, const DiffSide& after, bool alike = true);

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
  std::string under;  // the conditions: "resnet50.onnx on a100-sxm4-80gb, batch=1"
  // Of a range of sizes: the one that all of this is of, and those that break the requirement.
  std::string at;
  std::vector<std::string> broken_at;
};

class Verdict {
 public:
  bool passed() const;
  std::vector<Requirement> requirements() const;
  std::string Text() const;
  std::string Json() const;  // schema dlcost.check/1
  std::string Markdown() const;
  std::string Junit() const;
  std::string Github() const;  // workflow commands: an error per failure, a warning per note

  struct State;
  explicit Verdict(std::shared_ptr<const State> state);

 private:
  std::shared_ptr<const State> state_;
};

// Throws Error when a limit needs a baseline or a device that is not there.
Verdict Check(const Report& report, const std::optional<Report>& baseline,
              const Limits& limits = {});

// One of these: a file, which is a model or a report, or what was read or made already.
struct Baseline {
  std::string path;
  std::optional<Report> report;
  std::optional<Model> model;
};

// Limits under one or several sets of conditions.
struct CheckRequest {
  Limits limits;
  std::string budget_file;  // YAML, with conditions and limits of its own; "": none
  std::vector<Axis> sizes;  // every limit holds at each combination of them
  // None, one, or one for each set of conditions of the budget file.
  std::vector<Baseline> baselines;
  std::optional<Device> device;
  Bindings bindings;
  Options options;
  // A job on many devices, for step_s, exposed_s and sent_bytes: "dp=8,tp=2"; "": none.
  std::optional<System> system;
  std::string plan;
  std::int64_t micro_batch = 1, global_batch = 0;  // as for ParallelRequest
};
// Throws Error for a limit that needs something that is not there, and for a budget file that
// cannot be read.
Verdict CheckUnder(const Model& model, const CheckRequest& request);
// The same of a report: bindings and options are those that it was made with.
Verdict CheckUnder(const Report& report, const CheckRequest& request);

}  // namespace dlcost::api
