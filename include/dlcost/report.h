#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dlcost/device.h"
#include "dlcost/model.h"
#include "dlcost/options.h"

namespace dlcost::api {

// What a group of kernels costs. Counts are exact integers. Times are seconds, and absent without a
// device.
struct Cost {
  std::int64_t nodes = 0;
  std::int64_t macs = 0;   // multiply-accumulates
  std::int64_t flops = 0;  // in the convention of the options
  std::int64_t bytes_read = 0, bytes_written = 0;
  std::optional<double> bound_s;     // no implementation beats it
  std::optional<double> expected_s;  // what a good kernel takes

  std::int64_t bytes() const { return bytes_read + bytes_written; }
  // FLOP/byte; none where nothing moves.
  std::optional<double> intensity() const;
};

// A row by operator, module or phase of training.
struct Group {
  std::string name;
  Cost cost;
  std::int64_t kernel_flops = 0;  // of the kernels whose bytes and times these are
  std::string limited_by;         // what most of the time waits for; "" without a device
};

// A kernel, which may be launched more than once.
struct Kernel {
  std::string id, op, algorithm;
  std::string node;                // that names it
  std::vector<std::string> nodes;  // that it runs
  Cost cost;
  std::int64_t executed_flops = 0;  // with padding and transforms
  std::int64_t launches = 0;
  std::string limited_by;
};

struct Operand {
  std::string name, dtype;
  std::optional<std::vector<std::int64_t>> shape;  // none: not known
};

struct Node {
  std::string name, op, domain, scope, kernel;
  std::string status;  // counted, view, metadata, bounded or unknown
  std::vector<Operand> inputs, outputs;
  Cost cost;  // unfused traffic
  std::int64_t parameters = 0, weight_bytes = 0;
  std::int64_t repeat = 1;  // runs, inside of control flow
  bool upper_bound = false, assumed = false;
};

// A node that no total includes, and why.
struct Unknown {
  std::string node, op, domain, why;
};

// What a model costs. Copies share their rows, and the model, which a page counts anew.
class Report {
 public:
  // A report that was written with Json() or --format json. Throws Error for anything else.
  static Report Read(const std::string& path);
  // The same from memory; errors name it `name`.
  static Report FromJson(const std::string& json, const std::string& name);
  // Whether the file is JSON and no model: a report, where either is taken. Throws Error for a file
  // that cannot be read.
  static bool IsReportFile(const std::string& path);

  std::string model_path() const;
  std::string device_id() const;  // "" without a device
  Cost totals() const;
  std::map<std::string, std::int64_t> dims() const;
  std::int64_t parameters() const;
  std::int64_t weight_bytes() const;
  std::int64_t peak_activation_bytes() const;
  std::int64_t needed_bytes() const;    // weights and activations
  std::optional<bool> fits() const;     // into the device's memory
  bool exact() const;                   // nothing is unknown, at most or assumed
  std::vector<Group> by_op() const;     // the most expensive first
  std::vector<Group> by_scope() const;  // by module
  std::vector<Group> by_phase() const;  // of a training step
  std::vector<Kernel> kernels() const;
  std::vector<Node> nodes() const;
  std::vector<Unknown> unknown() const;
  std::vector<std::string> notes() const;

  // The renderings of the command line (docs/report.md). `by`: op, scope, phase, story, layer, node
  // or kernel; `top`: only so many rows; `columns`: only these, {"macs", "expected"}; `plot`: with
  // the roofline, drawn in characters.
  std::string Text(const std::string& by = "op", std::size_t top = 0,
                   const std::vector<std::string>& columns = {}, bool plot = false) const;
  std::string Json() const;  // schema dlcost.report/1
  std::string Csv(const std::string& by = "op", std::size_t top = 0) const;
  std::string Markdown(const std::string& by = "op", std::size_t top = 0) const;
  // gemm: products with tiles, waves and padding; work: what kernels execute, term by term, of all
  // or of the one that runs `node`. Throws Error where there is nothing to show.
  std::string View(const std::string& view, const std::string& node = "") const;
  // Kernels over time for ui.perfetto.dev, and for speedscope.app. Throw Error without a device.
  std::string Perfetto() const;
  std::string Speedscope() const;
  // The model's file once more, with the costs as metadata of its nodes, which Netron shows. Throws
  // Error for a model that is no ONNX file, and for one that was changed for the report.
  std::string AnnotatedModel() const;
  // A page (docs/report.md); counts the model once more, with the terms of its times.
  std::string Html(const std::string& title = "") const;
  // A picture for slides, as SVG: roofline, memory (what is live over the run) or icicle (where the
  // time goes). Throws Error for a roofline without a device.
  std::string Svg(const std::string& picture, bool dark = false,
                  const std::string& title = "") const;

  struct State;
  const State& state() const { return *state_; }  // for the implementation
  explicit Report(std::shared_ptr<const State> state);

 private:
  std::shared_ptr<const State> state_;
};

// Counts the model; with a device, bounds and expected times. Throws Error for sizes that are left
// open, for options that do not exist and for models that contradict the ONNX specification.
Report Count(const Model& model, const std::optional<Device>& device = std::nullopt,
             const Bindings& bindings = {}, const Options& options = {});

// One model on several devices side by side.
class DeviceRanking {
 public:
  std::string Text() const;
  std::string Json() const;  // schema dlcost.comparison/1
  std::string Csv() const;   // one line per device

  struct State;
  explicit DeviceRanking(std::shared_ptr<const State> state);

 private:
  std::shared_ptr<const State> state_;
};

// In the given order or, `ranked`, the fastest first, those that have no time last: the runtime
// need not run on all of them, then. `top`: the first ones; 0: all. Throws Error for none, and
// where the runtime runs on none of them.
DeviceRanking CompareDevices(const Model& model, const std::vector<Device>& devices,
                             const Bindings& bindings = {}, const Options& options = {},
                             bool ranked = false, std::size_t top = 0);

// One page of several reports: models, releases or devices side by side; what differs from the
// first one is told in the words of a Difference. Throws Error for none.
std::string Page(const std::vector<Report>& reports, const std::string& title = "");

// A training step as an ONNX file (docs/training.md), for Options::optimizer. Throws Error where
// the model has nothing to train or an output of unknown shape.
std::string TrainingStep(const Model& model, const Bindings& bindings, const Options& options);

}  // namespace dlcost::api
