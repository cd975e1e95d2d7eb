#pragma once

#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "estimator/hardware/device.h"
#include "estimator/hardware/timing_basis.h"
#include "estimator/infer/infer.h"
#include "estimator/plan/attention_share.h"
#include "estimator/plan/kernel.h"
#include "estimator/report/certainty.h"
#include "estimator/report/merge.h"
#include "estimator/roofline/run.h"

namespace dlcost {

inline constexpr std::string_view kReportSchema = "dlcost.report/1";

// How much a report tells; each step includes those before. Rows of nodes and kernels take as much
// memory as the counted model itself, their operands as much again.
enum class ReportDetail {
  kOperators,  // totals and by_op
  kScopes,     // by_scope
  kRows,       // nodes and kernels
  kOperands,   // operands and attributes of the nodes
  kSteps,      // the terms of kernels' expected times, and which tensors are live
};

// What was asked of the model beside the sizes of its dimensions, as the command line takes it.
struct ModelQuestion {
  std::string dtype, precision, assume;  // "" as the file says; "" nothing
  std::vector<std::string> frozen, at, trips, branches, values;
  bool sparse_embeddings = false;
};

struct ReportOptions {
  std::string convention = "dlcost";
  // The framework or library that is assumed to run the model (estimator/runtime): `plan` and `run`
  // hold its parts, as far as no option says otherwise. "": none was told.
  std::string runtime;
  bool runtime_given = false;  // else it is the default
  ModelQuestion model;
  PlanOptions plan;
  RunOptions run;
  std::size_t scope_depth = 2;  // components of module paths that by_scope keeps; 0: all
  ReportDetail detail = ReportDetail::kOperands;
};

struct Operand {
  std::string name;
  DType dtype = DType::kUndefined;
  std::optional<Shape> shape;
  bool weight = false;  // known before the run, from stored tensors alone
};

// The operands of a node, shared with the other nodes that have them: a tensor is told once.
class Operands {
 public:
  class Iterator {
   public:
    using value_type = const Operand;
    using reference = const Operand&;
    using pointer = const Operand*;
    using difference_type = std::ptrdiff_t;
    using iterator_category = std::forward_iterator_tag;

    Iterator() = default;
    explicit Iterator(const std::shared_ptr<const Operand>* at) : at_(at) {}
    reference operator*() const { return **at_; }
    pointer operator->() const { return at_->get(); }
    Iterator& operator++() { return ++at_, *this; }
    Iterator operator++(int) { return Iterator(at_++); }
    friend bool operator==(Iterator, Iterator) = default;

   private:
    const std::shared_ptr<const Operand>* at_ = nullptr;
  };

  void Reserve(std::size_t size) { items_.reserve(size); }
  void Add(std::shared_ptr<const Operand> operand) { items_.push_back(std::move(operand)); }
  void Add(Operand operand) { Add(std::make_shared<const Operand>(std::move(operand))); }
  std::size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  const Operand& operator[](std::size_t i) const { return *items_[i]; }
  Iterator begin() const { return Iterator(items_.data()); }
  Iterator end() const { return Iterator(items_.data() + items_.size()); }

 private:
  std::vector<std::shared_ptr<const Operand>> items_;  // none is null
};

struct ModelFacts {
  std::string path, name, producer;
  std::int64_t ir_version = 0;
  std::map<std::string, int> opset;
  std::int64_t nodes = 0;
  Count parameters;
  Bytes weight_bytes;
  std::map<std::string, std::int64_t> dims;
  Operands inputs, outputs;
};

// What the operations of a roof are counted in, by its name: "tensor int8" does OP, others FLOP.
std::string OperationUnit(std::string_view roof);

struct DeviceFacts {
  std::string id, name;
  // Every compute roof that the model touches and device memory, for the header and the chart.
  struct RoofFact {
    std::string name;  // "tensor fp16"
    FlopRate peak;
    std::optional<Intensity> ridge;
    std::string unit() const { return OperationUnit(name); }
  };
  std::vector<RoofFact> roofs;
  std::optional<ByteRate> bandwidth;
  std::optional<Bytes> memory;
  Count units = 1;                            // that share the blocks of a launch
  TimingBasis basis = TimingBasis::kAssumed;  // of every expected time
};

// Sums over a group of kernels: the whole model, an operator type, a scope.
struct Sums {
  std::int64_t nodes = 0;
  Macs macs;
  Flops flops;
  Work work;
  Bytes bytes_read, bytes_written;
  Seconds compute, memory;
  Seconds bound;
  std::optional<Seconds> expected;

  Bytes bytes() const { return bytes_read + bytes_written; }
  // FLOP/byte; none when nothing moves.
  std::optional<Intensity> intensity() const;
};

struct NodeRow {
  std::string name, op, domain, scope, kernel, note;
  // By name, as text: "3,3", "0.5", "NOTSET"; subgraphs and type protos left out.
  std::vector<std::pair<std::string, std::string>> attributes;
  NodeStatus status = NodeStatus::kUnknown;
  Phase phase = Phase::kForward;
  Operands inputs, outputs;
  Sums sums;  // of this node alone: unfused traffic; times are of the kernel if the node is its
              // main one
  Macs valid_macs;
  // Of weights that no node before this one reads: over all nodes, the model's.
  Count parameters;
  Bytes weight_bytes;
  Count repeat = 1;
  bool upper_bound = false;  // its counts are upper bounds
  bool assumed = false;      // its counts rest on something assumed

  Doubt doubt() const;
};

// Where a kernel's expected time comes from. Kernels of equal numbers share it.
struct TimeSteps {
  std::vector<TimeTerm> terms;  // depth first; the first is the whole time of all runs
  std::vector<std::string> advice;
};

struct KernelRow {
  std::string id, op, label, algorithm, runner_up, limiter;
  std::size_t main = 0;            // index into Report::nodes of the node that names the kernel
  DType math = DType::kUndefined;  // that multiply-accumulates run in
  std::vector<std::string> nodes;
  Sums sums;
  Flops executed;
  // What the algorithm cannot do without: less than the mathematics as written for Winograd and
  // for folded nodes. Against the bound, it is never above a roof.
  Flops least;
  Count launches;
  Count repeat = 1;       // how often the kernel runs; everything but the nest is of all runs
  std::string waits_for;  // the largest term of the expected time, "" without one
  bool biased = false;    // Kernel::biased
  LoopNest nest;
  std::shared_ptr<const Execution> execution;  // null where nothing but data moves
  std::vector<RoofTime> roofs;
  // Null without ReportDetail::kSteps, and where a framework's calls overlap with those of others.
  std::shared_ptr<const TimeSteps> steps;
  // Of the expected time, what its kernels last: without the host's calls that hold them up.
  std::optional<Seconds> on_device;
  // Four of five measurements of kernels like this one lie between.
  std::optional<Seconds> expected_low, expected_high;

  // What its time waits for: the largest term of the expected time, else the roof that bounds it.
  const std::string& LimitedBy() const { return waits_for.empty() ? limiter : waits_for; }
  // What moves when the algorithm's own intermediate results do: never less than sums.bytes().
  Bytes executed_bytes() const;
  Doubt doubt;
};

struct GroupRow {
  std::string name;  // operator type, scope
  Sums sums;
  // Of the kernels whose bytes and times are in `sums`: those that a node of the group names. Other
  // than sums.flops where kernels hold nodes of other groups.
  Flops kernel_flops;
  Doubt doubt;
  // Expected time of these kernels, by the term that is largest (KernelRow::waits_for).
  std::map<std::string, Seconds, std::less<>> waits_for;

  // The term that most of the expected time waits for; "" without one.
  std::string LimitedBy() const;
  // FLOP/byte of these kernels; none when nothing moves.
  std::optional<Intensity> intensity() const;
};

struct UnknownRow {
  std::string node, op, domain, why;
};

// Activation memory while a kernel runs: inputs, intermediate values and outputs that exist then.
struct MemoryStep {
  std::size_t node;  // that names the kernel: index into Report::nodes
  Bytes live;
};

// A tensor with memory of its own, and the steps of Report::memory while which it is there, both
// ends included.
struct LiveTensor {
  std::string name;
  Bytes size;
  std::size_t from = 0, to = 0;
};

// A step on many devices, of one of them.
struct JobFacts {
  std::string system, plan;
  std::int64_t devices = 1;
  Seconds step;
  Seconds exposed;  // communication that nothing hides, that between split operators included
  Bytes sent;       // as rings count
  Bytes memory;
};

// Everything a rendering shows. All formats print this struct and compute nothing.
struct Report {
  ModelFacts model;
  std::optional<DeviceFacts> device;
  ReportOptions options;
  Sums totals;
  Certainty certainty;  // of the totals
  // Kernels that all come out low, or all high: with a device, the range of the expected total.
  Seconds expected_low, expected_high;
  Seconds expected_busy;  // of the expected total: while kernels run, not launches
  std::optional<AttentionShare> attention;
  // The largest of `memory`: what a kernel keeps inside has no buffer (estimator/infer/memory.h).
  Bytes peak_activation_bytes;
  std::vector<MemoryStep> memory;  // with rows, a step per kernel that is not known beforehand
  std::vector<LiveTensor> live;    // with ReportDetail::kSteps
  std::map<NodeStatus, std::int64_t> coverage;
  // Largest first: by bound with a device, by FLOPs and bytes without. Work belongs to the node,
  // traffic and time to the kernel's main node, so that both reconcile with the totals.
  std::vector<GroupRow> by_op;
  // Of a training step, in the order in which they run; empty for inference.
  std::vector<GroupRow> by_phase;
  std::shared_ptr<const StepFacts> step;  // null: inference
  std::vector<GroupRow> by_scope;         // module paths, cut at ReportOptions::scope_depth
  std::vector<KernelRow> kernels;
  std::vector<NodeRow> nodes;
  std::vector<UnknownRow> unknown;
  std::vector<Merge> merges;  // largest saving first; with ReportDetail::kOperands and a device
  std::vector<std::string> notes;
  std::optional<JobFacts> job;  // where a plan for many devices was asked for
  // Of a report that was read: fields that the release which wrote it did not have yet, by name.
  // They are as by default.
  std::vector<std::string> untold;

  // Of a training step: multiply-accumulates of the backward passes over those of the forward pass;
  // none where that has none, or for inference.
  std::optional<double> BackwardRatio() const;

  // Weights and activations: what has to fit into a device's memory.
  Bytes needed() const { return model.weight_bytes + peak_activation_bytes; }
  // Whether that fits; none without a device or where its memory is not public.
  std::optional<bool> fits() const;
};

// Plans, bounds and sums. Without a device there are counts and no times.
Report BuildReport(const InferredModel& model, const std::optional<Device>& device,
                   const ReportOptions& options);
// The same for one of several devices, with the kernels that MakePlan(model, options.plan) made
// for all of them.
Report BuildReport(const InferredModel& model, const Device& device, const ReportOptions& options,
                   const Plan& plan);

// Sums by name. Names are not copied: they must live as long as this.
class Groups {
 public:
  GroupRow& operator[](std::string_view name);  // its name is filled in by Rows
  // A row for each name, in the order in which they first came.
  std::vector<GroupRow> Rows() const;

 private:
  std::vector<std::pair<std::string_view, GroupRow>> groups_;
  std::unordered_map<std::string_view, std::size_t> index_;
};

// Adds nodes, kernels or groups up: the one place where sums are formed.
void Accumulate(Sums& into, const Sums& what);
// Orders groups as by_op is ordered.
void SortGroups(std::vector<GroupRow>& groups, bool by_time);
// Whether a row with `a` stands before one with `b`: by expected time where there are times, else
// by bound, then by work and bytes.
bool CostsMore(const Sums& a, const Sums& b, bool by_time);

}  // namespace dlcost
