#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <unordered_map>

#include "estimator/core/error.h"
#include "estimator/plan/attention_share.h"
#include "estimator/plan/kernel_memory.h"
#include "estimator/report/attribute_text.h"
#include "estimator/report/device_facts.h"
#include "estimator/report/merges.h"
#include "estimator/report/report.h"
#include "estimator/report/run_options.h"
#include "estimator/report/scope.h"
#include "estimator/roofline/run_sequence.h"

#if defined(__GNUC__) && !defined(__clang__)
// GCC 12 mistakes the copy of a std::variant for an uninitialised read (gcc.gnu.org/PR80635).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

namespace dlcost {
namespace {

class Builder {
 public:
  Builder(const InferredModel& model, const std::optional<Device>& device,
          const ReportOptions& options)
      : model_(model),
        device_(device),
        options_(options),
        convention_(FindConvention(options.convention)),
        runs_(device ? &*device : nullptr, RunOptionsFor(options, model), options.plan) {}

  // `each_kernel` calls what it is given with every kernel, in execution order.
  Report Run(const std::function<void(const std::function<void(Kernel)>&)>& each_kernel) {
    report_.options = options_;
    AddModel();
    if (HasRows()) report_.nodes.reserve(model_.nodes.size());
    for (std::size_t n = 0; n < model_.nodes.size(); ++n) {
      Named(n, [&] { AddNode(model_.nodes[n]); });
    }
    AttentionCounter attention;
    KernelMemory memory(model_);
    in_attention_.assign(model_.nodes.size(), false);
    looks_.assign(model_.nodes.size(), false);
    each_kernel([&](Kernel kernel) {
      Named(kernel.main, [&] {
        attention.Add(kernel);
        memory.Add(kernel);
        if (kernel.spelled_attention) {
          for (const std::size_t n : kernel.nodes) in_attention_[n] = true;
        }
        for (const std::size_t n : kernel.looks) looks_[n] = true;
        AddKernel(std::move(kernel));
      });
    });
    for (std::size_t n = 0; n < model_.nodes.size(); ++n) {
      Named(n, [&] { AddToGroups(n); });
    }
    report_.attention = attention.Share();
    AddMemory(memory);
    runs_.Require(model_);
    SumUp();
    if (device_) AddDeviceFacts(*device_, runs_, modes_, report_);
    report_.notes.insert(report_.notes.begin(), model_.notes.begin(), model_.notes.end());
    return std::move(report_);
  }

 private:
  // A sum that does not fit names the node at which it passes 64 bits.
  template <typename Add>
  void Named(std::size_t n, const Add& add) const {
    try {
      add();
    } catch (const OverflowError& error) {
      const CountedNode& counted = model_.nodes[n];
      throw error.At(fmt::format("{}: summed up to node '{}' ({})", Printable(model_.model->path),
                                 Printable(counted.name), Printable(counted.node->op)));
    }
  }

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
  }

  void AddMemory(const KernelMemory& memory) {
    const auto [live, buffers] = memory.Live();
    report_.peak_activation_bytes = *std::max_element(live.begin(), live.end());
    if (!HasRows()) return;
    std::vector<std::size_t> step_at;  // of each kernel: the first step from it on
    for (std::size_t k = 0; k < memory.mains().size(); ++k) {
      step_at.push_back(report_.memory.size());
      if (memory.mains()[k]) report_.memory.push_back({*memory.mains()[k], live[k + 1]});
    }
    step_at.push_back(report_.memory.size());
    if (options_.detail < ReportDetail::kSteps) return;
    for (const Buffer& buffer : buffers) {
      const std::size_t from = step_at[buffer.from], end = step_at[buffer.to + 1];
      if (from == end) continue;  // while nothing runs but what is known before
      const Tensor& tensor = model_.model->graph.tensors[static_cast<std::size_t>(buffer.tensor)];
      report_.live.push_back({tensor.name, buffer.size, from, end - 1});
    }
  }

  static RunOptions RunOptionsFor(const ReportOptions& options, const InferredModel& model) {
    RunOptions run = RunOptionsOf(options, model);
    run.explain = options.detail >= ReportDetail::kSteps;
    return run;
  }

  // The terms of a run that the memo holds, shared by all kernels that are like it.
  std::shared_ptr<const TimeSteps> StepsOf(const KernelRun& known) {
    if (options_.detail < ReportDetail::kSteps || !known.expected || options_.run.Calls()) {
      return nullptr;
    }
    std::shared_ptr<const TimeSteps>& steps = steps_[&known];
    if (steps == nullptr) {
      steps = std::make_shared<const TimeSteps>(
          TimeSteps{known.expected->terms, known.expected->advice});
    }
    return steps;
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

  bool HasRows() const { return options_.detail >= ReportDetail::kRows; }

  void AddNode(const CountedNode& counted) {
    Sums work{.nodes = 1};
    SetWork(work, counted.cost.work);
    ++report_.coverage[counted.status];
    if (!counted.why.empty() &&
        (counted.status == NodeStatus::kUnknown || counted.status == NodeStatus::kBounded)) {
      report_.unknown.push_back(
          {counted.name, counted.node->op, counted.node->domain, counted.why});
    }
    if (HasRows()) AddRow(counted, std::move(work));
  }

  void AddRow(const CountedNode& counted, Sums work) {
    NodeRow row;
    row.name = counted.name;
    row.op = counted.node->op;
    row.domain = counted.node->domain;
    row.scope = counted.node->scope;
    row.note = counted.cost.note;
    row.status = counted.status;
    row.phase = counted.node->phase;
    row.repeat = counted.repeat;
    row.upper_bound = counted.upper_bound;
    row.assumed = counted.assumed;
    if (options_.detail >= ReportDetail::kOperands) {
      row.attributes = AttributeTexts(*counted.node);
      row.inputs = OperandsOf(*counted.graph, counted.node->inputs);
      row.outputs = OperandsOf(*counted.graph, counted.node->outputs);
    }
    row.sums = std::move(work);
    row.sums.bytes_read = counted.cost.BytesRead();
    row.sums.bytes_written = counted.cost.BytesWritten();
    row.valid_macs = counted.cost.valid_macs;
    row.parameters = counted.parameters;
    row.weight_bytes = counted.weight_bytes;
    report_.nodes.push_back(std::move(row));
  }

  // Known once the kernel of the node is.
  std::string_view OperatorRow(std::size_t n) const {
    return in_attention_[n] ? std::string_view(kAttentionRow)
                            : std::string_view(model_.nodes[n].node->op);
  }

  void SetWork(Sums& sums, const Work& work) {
    sums.work = work;
    sums.macs = work.macs();
    sums.flops = CountFlops(work, convention_);
  }

  void AddToGroups(std::size_t n) {
    const CountedNode& counted = model_.nodes[n];
    Sums work{.nodes = 1};
    SetWork(work, counted.cost.work);
    const Doubt doubt = looks_[n] ? Doubt() : DoubtOf(counted, work.macs, work.flops);
    AddToGroups(n, [&](GroupRow& group) {
      Accumulate(group.sums, work);
      Accumulate(group.doubt, doubt);
    });
  }

  // Work belongs to the nodes; traffic and time of a kernel to the node that names it.
  template <typename Add>
  void AddToGroups(std::size_t n, Add add) {
    const Node& node = *model_.nodes[n].node;
    add(by_op_[OperatorRow(n)]);
    if (model_.step != nullptr) add(by_phase_[static_cast<std::size_t>(node.phase)]);
    if (options_.detail == ReportDetail::kOperators) return;
    add(by_scope_[ScopeAtDepth(node.scope, options_.scope_depth)]);
  }

  void AddKernel(Kernel kernel) {
    Sums sums;
    sums.bytes_read = kernel.bytes_read;
    sums.bytes_written = kernel.bytes_written;
    Doubt doubt;
    const RunSequence::Step next = runs_.Add(kernel);
    std::shared_ptr<const TimeSteps> steps = StepsOf(next.run);
    KernelRun run = next.run;
    const Bound& bound = run.bound;
    if (next.time) run.expected->time = *next.time;
    if (kernel.repeat > Count(0) && kernel.work.macs() > Macs(0)) {
      modes_.insert(ModeOf(options_.run.math, std::holds_alternative<ConvNest>(kernel.nest)));
    }
    if (run.expected) {
      sums.expected = Seconds(run.expected->time.expected);
      report_.expected_low += Seconds(run.expected->time.low);
      report_.expected_high += Seconds(run.expected->time.high);
      report_.expected_busy += Seconds(std::min(run.expected->busy, run.expected->time.expected));
    }
    for (const std::string& note : bound.notes) AddNote(note);
    const Doubt::Part part = {
        .bytes = kernel.bytes(), .time = bound.time, .expected = sums.expected.value_or(Seconds())};
    if (kernel.assumed) doubt.assumed = part;
    if (kernel.upper_bound) {
      doubt.at_most = part;
    } else {
      // A kernel that may do less than was counted beats a time computed from its counts.
      sums.compute = bound.compute;
      sums.memory = bound.memory;
      sums.bound = bound.time;
    }
    const Flops flops = CountFlops(kernel.work, convention_);
    AddToGroups(kernel.main, [&](GroupRow& group) {
      Accumulate(group.sums, sums);
      Accumulate(group.doubt, doubt);
      group.kernel_flops += flops;
      if (run.expected) group.waits_for[run.expected->limiter] += *sums.expected;
    });
    if (!HasRows()) return;
    AddRow(std::move(kernel), std::move(sums), doubt, std::move(run));
    report_.kernels.back().steps = std::move(steps);
  }

  void AddRow(Kernel kernel, Sums sums, Doubt doubt, KernelRun run) {
    Sums& main = report_.nodes[kernel.main].sums;
    main.compute = sums.compute;
    main.memory = sums.memory;
    main.bound = sums.bound;
    main.expected = sums.expected;
    KernelRow row{.op = std::string(OperatorRow(kernel.main)),
                  .main = kernel.main,
                  .math = kernel.math,
                  .launches = run.launches,
                  .repeat = kernel.repeat,
                  .biased = kernel.biased,
                  .execution = std::move(run.execution)};
    for (const std::size_t n : kernel.nodes) {
      row.nodes.push_back(report_.nodes[n].name);
      report_.nodes[n].kernel = kernel.id;
      const Sums& work = report_.nodes[n].sums;
      if (looks_[n]) {
        report_.nodes[n].status = NodeStatus::kView;
        continue;
      }
      Accumulate(doubt, DoubtOf(model_.nodes[n], work.macs, work.flops));
    }
    row.doubt = doubt;
    row.sums = std::move(sums);
    row.sums.nodes = static_cast<std::int64_t>(kernel.nodes.size());
    SetWork(row.sums, kernel.work);
    row.executed = CountFlops(run.executed, convention_);
    row.least = CountFlops(run.least, convention_);
    row.limiter = std::move(run.bound.limiter);
    row.roofs = std::move(run.bound.roofs);
    if (run.expected) {
      row.on_device = options_.run.Calls() ? std::max(Seconds(run.expected->device), row.sums.bound)
                                           : row.sums.expected;
      row.expected_low = Seconds(run.expected->time.low);
      row.expected_high = Seconds(run.expected->time.high);
      row.waits_for = std::move(run.expected->limiter);
    }
    row.id = std::move(kernel.id);
    row.label = std::move(kernel.label);
    row.algorithm = std::move(run.algorithm);
    row.runner_up = std::move(run.runner_up);
    row.nest = std::move(kernel.nest);
    report_.kernels.push_back(std::move(row));
  }

  void AddNote(const std::string& note) {
    if (std::find(report_.notes.begin(), report_.notes.end(), note) == report_.notes.end()) {
      report_.notes.push_back(note);
    }
  }

  void SumUp() {
    report_.by_op = by_op_.Rows();
    report_.by_scope = by_scope_.Rows();
    AddPhases();
    report_.certainty = CertaintyOf(model_, convention_);
    for (const GroupRow& row : report_.by_op) {
      try {
        Accumulate(report_.totals, row.sums);
        Accumulate(report_.certainty.doubt, row.doubt);
      } catch (const OverflowError& error) {
        throw error.At(fmt::format("{}: summed up to all nodes of {}",
                                   Printable(model_.model->path), Printable(row.name)));
      }
    }
    if (runs_.partial()) report_.totals.expected.reset();
    SortGroups(report_.by_op, device_.has_value());
    SortGroups(report_.by_scope, device_.has_value());
  }

  void AddPhases() {
    report_.step = model_.step;
    if (model_.step == nullptr) return;
    for (int p = 0; p < kPhaseCount; ++p) {
      GroupRow& row = by_phase_[static_cast<std::size_t>(p)];
      row.name = Name(static_cast<Phase>(p));
      if (row.sums.nodes > 0) report_.by_phase.push_back(std::move(row));
    }
  }

  const InferredModel& model_;
  const std::optional<Device>& device_;
  const ReportOptions& options_;
  const Convention& convention_;
  RunSequence runs_;
  std::unordered_map<const KernelRun*, std::shared_ptr<const TimeSteps>> steps_;
  // Per tensor of a graph, once some node has it.
  std::unordered_map<const Graph*, std::vector<std::shared_ptr<const Operand>>> operands_;
  const std::shared_ptr<const Operand> omitted_ = std::make_shared<const Operand>();
  Groups by_op_, by_scope_;
  std::vector<bool> looks_;         // nodes that only look at what others move
  std::vector<bool> in_attention_;  // nodes of attention that is spelled out
  std::array<GroupRow, kPhaseCount> by_phase_;
  std::set<MathMode> modes_;  // of the products that run
  Report report_;
};

}  // namespace

Report BuildReport(const InferredModel& model, const std::optional<Device>& device,
                   const ReportOptions& options) {
  Report report = Builder(model, device, options).Run([&](const auto& take) {
    ForEachKernel(model, options.plan, take);
  });
  if (device) report.merges = FindMerges(report, *device);
  return report;
}

Report BuildReport(const InferredModel& model, const Device& device, const ReportOptions& options,
                   const Plan& plan) {
  Report report = Builder(model, device, options).Run([&](const auto& take) {
    for (const Kernel& kernel : plan.kernels) take(kernel);
  });
  report.merges = FindMerges(report, device);
  return report;
}

}  // namespace dlcost
