#include <algorithm>
#include <unordered_map>

#include "estimator/plan/attention_share.h"
#include "estimator/report/attribute_text.h"
#include "estimator/report/report.h"
#include "estimator/roofline/expected.h"

#if defined(__GNUC__) && !defined(__clang__)
// GCC 12 mistakes the copy of a std::variant for an uninitialised read (gcc.gnu.org/PR80635).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

namespace dlcost {
namespace {

// The first `depth` components of a module path; "(no module)" for an empty one.
std::string_view ScopeAtDepth(std::string_view scope, std::size_t depth) {
  if (scope.empty()) return "(no module)";
  std::size_t end = std::string_view::npos;
  for (std::size_t i = 0; i < depth; ++i) {
    end = scope.find('/', i == 0 ? 0 : end + 1);
    if (end == std::string_view::npos) break;
  }
  return scope.substr(0, end);
}

class Builder {
 public:
  Builder(const InferredModel& model, const std::optional<Device>& device,
          const ReportOptions& options)
      : model_(model),
        device_(device),
        options_(options),
        convention_(FindConvention(options.convention)) {
    // Without a bandwidth there is nothing to expect; bounds say so themselves.
    if (device_ && device_->memory.bandwidth) timing_ = MakeTimingDevice(*device_);
  }

  Report Run() {
    report_.options = options_;
    AddModel();
    PlanOptions plan_options = options_.plan;
    plan_options.device = device_ ? &*device_ : nullptr;
    plan_options.math = options_.bound.math;
    Plan plan = MakePlan(model_, plan_options);
    report_.nodes.reserve(model_.nodes.size());
    for (const CountedNode& counted : model_.nodes) AddNode(counted);
    report_.kernels.reserve(plan.kernels.size());
    report_.attention = ShareOfAttention(plan);
    for (Kernel& kernel : plan.kernels) AddKernel(kernel);
    for (std::size_t n = 0; n < report_.nodes.size(); ++n) {
      report_.nodes[n].kernel = report_.kernels[plan.kernel_of[n]].id;
    }
    SumUp();
    AddDevice();
    report_.notes.insert(report_.notes.begin(), model_.notes.begin(), model_.notes.end());
    return std::move(report_);
  }

 private:
  void AddModel() {
    const Model& model = *model_.model;
    report_.model = {.path = model.path,
                     .name = model.name,
                     .producer = model.producer,
                     .ir_version = model.ir_version,
                     .opset = model.opset,
                     .nodes = static_cast<std::int64_t>(model_.nodes.size()),
                     .parameters = model_.parameters,
                     .weight_bytes = model_.weight_bytes,
                     .dims = model_.dims.symbols};
    report_.model.inputs = OperandsOf(model.graph, model.graph.inputs);
    report_.model.outputs = OperandsOf(model.graph, model.graph.outputs);
    report_.peak_activation_bytes = model_.peak_activation_bytes;
  }

  Operands OperandsOf(const Graph& graph, const std::vector<TensorId>& ids) {
    std::vector<std::shared_ptr<const Operand>>& known = operands_[&graph];
    known.resize(graph.tensors.size());
    Operands operands;
    operands.Reserve(ids.size());
    for (const TensorId id : ids) {
      if (id == kNoTensor) {
        operands.Add(omitted_);
        continue;
      }
      std::shared_ptr<const Operand>& operand = known[static_cast<std::size_t>(id)];
      if (operand == nullptr) {
        const Tensor& tensor = graph.tensors[static_cast<std::size_t>(id)];
        operand = std::make_shared<const Operand>(
            Operand{tensor.name, tensor.type.dtype, tensor.type.shape, tensor.constant});
      }
      operands.Add(operand);
    }
    return operands;
  }

  void AddNode(const CountedNode& counted) {
    NodeRow row;
    row.name = counted.name;
    row.op = counted.node->op;
    row.domain = counted.node->domain;
    row.scope = counted.node->scope;
    row.note = counted.cost.note;
    row.status = counted.status;
    row.repeat = counted.repeat;
    row.upper_bound = counted.upper_bound;
    if (options_.operands) {
      row.attributes = AttributeTexts(*counted.node);
      row.inputs = OperandsOf(*counted.graph, counted.node->inputs);
      row.outputs = OperandsOf(*counted.graph, counted.node->outputs);
    }
    row.sums.nodes = 1;
    SetWork(row.sums, counted.cost.work);
    row.sums.bytes_read = counted.cost.BytesRead();
    row.sums.bytes_written = counted.cost.BytesWritten();
    row.valid_macs = counted.cost.valid_macs;
    row.parameters = counted.parameters;
    row.weight_bytes = counted.weight_bytes;
    ++report_.coverage[row.status];
    if (!counted.why.empty() &&
        (row.status == NodeStatus::kUnknown || row.status == NodeStatus::kBounded)) {
      report_.unknown.push_back({row.name, row.op, row.domain, counted.why});
    }
    report_.nodes.push_back(std::move(row));
  }

  void SetWork(Sums& sums, const Work& work) {
    sums.work = work;
    sums.macs = work.macs();
    sums.flops = CountFlops(work, convention_);
  }

  // Takes over what the kernel holds.
  void AddKernel(Kernel& kernel) {
    KernelRow row{.op = report_.nodes[kernel.main].op,
                  .main = kernel.main,
                  .math = kernel.math,
                  .launches = kernel.launches,
                  .execution = kernel.execution};
    for (const std::size_t n : kernel.nodes) row.nodes.push_back(report_.nodes[n].name);
    row.sums.nodes = static_cast<std::int64_t>(kernel.nodes.size());
    SetWork(row.sums, kernel.work);
    row.sums.bytes_read = kernel.bytes_read;
    row.sums.bytes_written = kernel.bytes_written;
    row.executed = CountFlops(kernel.executed, convention_);
    row.least = CountFlops(kernel.least, convention_);
    if (device_ && kernel.launches > Count(0)) {
      const Bound bound = BoundKernel(kernel, *device_, options_.bound);
      row.sums.compute = bound.compute;
      row.sums.memory = bound.memory;
      row.sums.bound = bound.time;
      row.limiter = bound.limiter;
      row.roofs = bound.roofs;
      Sums& main = report_.nodes[kernel.main].sums;
      main.compute = bound.compute;
      main.memory = bound.memory;
      main.bound = bound.time;
      AddExpected(kernel, bound, row);
      for (const std::string& note : bound.notes) AddNote(note);
    }
    row.id = std::move(kernel.id);
    row.label = std::move(kernel.label);
    row.algorithm = std::move(kernel.algorithm);
    row.runner_up = std::move(kernel.runner_up);
    row.nest = std::move(kernel.nest);
    report_.kernels.push_back(std::move(row));
  }

  void AddExpected(const Kernel& kernel, const Bound& bound, KernelRow& row) {
    if (!timing_) return;
    const std::optional<Expected> expected = ExpectedKernel(
        kernel, *device_, *timing_, bound,
        {.math = options_.bound.math, .cache = options_.bound.cache, .eager = options_.eager});
    if (!expected) return;
    row.sums.expected = Seconds(expected->time.expected);
    row.expected_low = Seconds(expected->time.low);
    row.expected_high = Seconds(expected->time.high);
    report_.nodes[kernel.main].sums.expected = row.sums.expected;
  }

  void AddNote(const std::string& note) {
    if (std::find(report_.notes.begin(), report_.notes.end(), note) == report_.notes.end()) {
      report_.notes.push_back(note);
    }
  }

  void SumUp() {
    report_.by_op =
        GroupNodes(report_, [](const NodeRow& node) { return std::string_view(node.op); });
    report_.by_scope = GroupNodes(report_, [this](const NodeRow& node) {
      return ScopeAtDepth(node.scope, options_.scope_depth);
    });
    for (const GroupRow& row : report_.by_op) Accumulate(report_.totals, row.sums);
    SortGroups(report_.by_op, device_.has_value());
    SortGroups(report_.by_scope, device_.has_value());
  }

  void AddDevice() {
    if (!device_) return;
    DeviceFacts facts;
    facts.id = device_->id;
    facts.name = device_->name;
    facts.bandwidth = device_->memory.bandwidth;
    facts.memory = device_->memory.size;
    facts.units = std::max(1, device_->units.value_or(1));
    const auto add = [&](WorkKind kind, DType type) {
      const Roof roof = FindRoof(*device_, kind, type, options_.bound.math);
      if (!roof.known) return;
      const std::string name = std::string(Name(roof.unit)) + " " + std::string(Name(roof.input));
      for (const auto& known : facts.roofs) {
        if (known.name == name) return;
      }
      facts.roofs.push_back({name, roof.peak, RidgePoint(*device_, roof)});
    };
    for (const Work::Entry& entry : report_.totals.work.entries()) {
      if (entry.counts[0] > Count(0)) add(WorkKind::kMatrix, entry.dtype);
    }
    for (const Work::Entry& entry : report_.totals.work.entries()) {
      if (IsFloat(entry.dtype)) add(WorkKind::kVector, entry.dtype);
    }
    report_.device = std::move(facts);
  }

  const InferredModel& model_;
  const std::optional<Device>& device_;
  const ReportOptions& options_;
  const Convention& convention_;
  std::optional<TimingDevice> timing_;
  // Per tensor of a graph, once some node has it.
  std::unordered_map<const Graph*, std::vector<std::shared_ptr<const Operand>>> operands_;
  const std::shared_ptr<const Operand> omitted_ = std::make_shared<const Operand>();
  Report report_;
};

}  // namespace

Report BuildReport(const InferredModel& model, const std::optional<Device>& device,
                   const ReportOptions& options) {
  return Builder(model, device, options).Run();
}

}  // namespace dlcost
