#include "estimator/core/error.h"
#include "estimator/infer/control_flow.h"

namespace dlcost {
namespace {

std::vector<std::int64_t> Axes(const Node& node, const char* name, std::size_t size) {
  std::vector<std::int64_t> axes(size, 0);
  const AttributeValue* value = node.FindAttribute(name);
  if (value == nullptr) return axes;
  const auto* given = std::get_if<std::vector<std::int64_t>>(value);
  if (given == nullptr || given->size() != size) {
    throw Error("attribute '{}' needs {} integers", name, size);
  }
  return *given;
}

// Removes an axis; returns its extent.
std::int64_t TakeAxis(Known& known, std::int64_t axis) {
  if (!known.type.shape) throw Unresolved("the shape of a scanned input is not known");
  std::vector<std::int64_t> dims = known.type.shape->dims();
  const std::size_t at = NormalizeAxis(axis, dims.size());
  const std::int64_t extent = dims[at];
  dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(at));
  known.type.shape = Shape(std::move(dims));
  known = TypeOnly(known);
  return extent;
}

std::int64_t ScanInputs(const Node& node) {
  const AttributeValue* value = node.FindAttribute("num_scan_inputs");
  const auto* count = value == nullptr ? nullptr : std::get_if<std::int64_t>(value);
  if (count == nullptr) throw Error("attribute 'num_scan_inputs' is missing");
  return *count;
}

}  // namespace

// Opset 8 has a batch axis in front of everything, and an optional input with lengths.
void RunScan(ControlNode& control) {
  const Node& node = control.node();
  const Graph& body = control.Body("body");
  const bool batched = node.opset < 9;
  const std::size_t skip = batched ? 1 : 0;
  const std::int64_t declared = ScanInputs(node);
  const auto given = static_cast<std::int64_t>(control.NumInputs() - skip);
  if (declared < 1 || declared > given) {
    throw Error("num_scan_inputs is {}, the node has {} inputs", declared, given);
  }
  const auto scans = static_cast<std::size_t>(declared);
  const std::size_t states = static_cast<std::size_t>(given) - scans;
  if (body.outputs.size() < states) throw Error("the body hands on fewer states than it gets");
  const std::size_t results = body.outputs.size() - states;
  const std::vector<std::int64_t> in_axes = Axes(node, batched ? "" : "scan_input_axes", scans);
  const std::vector<std::int64_t> out_axes = Axes(node, batched ? "" : "scan_output_axes", results);

  std::vector<Known> inputs;
  Count batch = 1;
  std::int64_t steps = 0;
  bool at_most = false;
  for (std::size_t i = 0; i < states + scans; ++i) {
    Known input = TypeOnly(control.Input(i + skip));
    if (batched) batch = TakeAxis(input, 0);
    if (i >= states) {
      at_most |= control.Input(i + skip).upper_bound;
      const std::int64_t extent = TakeAxis(input, in_axes[i - states]);
      if (i > states && extent != steps) {
        throw Error("scanned inputs of {} and {} steps", steps, extent);
      }
      steps = extent;
    }
    inputs.push_back(std::move(input));
  }
  const InferenceDriver::Mark mark = control.driver().Here();
  const std::vector<Known> outputs = control.Run(body, inputs, batch * Count(steps));
  if (at_most) {
    control.MarkUpperBound(mark, "may run fewer than its " + std::to_string(steps) +
                                     " steps: their number depends on data");
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    Known output = TypeOnly(outputs[i]);
    if (i >= states) output = Stacked(output, steps, out_axes[i - states]);
    if (batched) output = Stacked(output, batch, 0);
    output.upper_bound |= at_most;
    control.SetOutput(i, output);
  }
}

}  // namespace dlcost
