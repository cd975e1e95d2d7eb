#include "estimator/plan/kernel.h"

#include <algorithm>
#include <map>
#include <set>

#include "estimator/infer/find_strided.h"
#include "estimator/plan/attention_pattern.h"
#include "estimator/plan/blas.h"
#include "estimator/plan/fuse.h"
#include "estimator/plan/traffic.h"
#include "estimator/plan/units.h"

namespace dlcost {
namespace {

struct NameOfNest {
  std::string operator()(const std::monostate&) const { return "other"; }
  std::string operator()(const GemmNest&) const { return "gemm"; }
  std::string operator()(const ConvNest&) const { return "direct"; }
  std::string operator()(const AttentionNest&) const { return "attention"; }
  std::string operator()(const RecurrentNest&) const { return "recurrent"; }
  std::string operator()(const ReduceNest&) const { return "reduction"; }
  std::string operator()(const ElementwiseNest&) const { return "elementwise"; }
};

// "conv + batch_normalization + relu"; repeated parts are counted, long lists end in dots.
std::string Label(const std::vector<std::string_view>& names) {
  constexpr std::size_t kMostParts = 6;
  std::vector<std::string> parts;
  for (const std::string_view name : names) parts.push_back(LabelOf(name));
  std::string label;
  std::size_t written = 0;
  for (std::size_t i = 0; i < parts.size();) {
    std::size_t same = i;
    while (same < parts.size() && parts[same] == parts[i]) ++same;
    if (!label.empty()) label += " + ";
    if (written++ == kMostParts) return label + "...";
    label += parts[i];
    if (same - i > 1) label += fmt::format(" x{}", same - i);
    i = same;
  }
  return label;
}

class Planner {
 public:
  Planner(const InferredModel& model, const PlanOptions& options)
      : model_(model),
        options_(options),
        values_(Values(model, options, strided_)),
        grouping_(GroupingOf(values_, options)),
        traffic_(values_, grouping_) {
    FindInnerViews();
  }

  void Run(const std::function<void(Kernel)>& visit) {
    for (std::size_t g = 0; g < grouping_.groups.size(); ++g) visit(Make(g));
  }

 private:
  static ValueGraph Values(const InferredModel& model, const PlanOptions& options,
                           Strided& strided) {
    ValueGraph values(model);
    if (FusesOf(options).Has(FusionStep::kViews)) {
      // Fused attention finds out by expansions how many queries share a key.
      const AttentionForm form = options.Form();
      const bool materializes = form == AttentionForm::kCalled
                                    ? !CallsAttention(values)
                                    : form == AttentionForm::kMaterialized;
      const bool compiles = FusesOf(options).Has(FusionStep::kPointwise);
      strided = FindStrided(values, materializes, compiles);
      if (compiles) KeepRecognized(values, options, strided.views);
      values.LookThrough(strided.views);
      // Who compiles a kernel does so for the strides that it will read.
      if (compiles) strided = {};
    }
    return values;
  }

  // What a compiler recognizes as one function, attention with its transpositions, stays in it.
  static void KeepRecognized(const ValueGraph& values, const PlanOptions& options,
                             std::vector<bool>& views) {
    ForEachUnit(values, options.Form(), options.composed_apart, [&](const FusedUnit& unit) {
      if (unit.nodes.size() < 2) return;
      for (const std::size_t n : unit.nodes) views[n] = false;
    });
  }

  static FusionSet FusesOf(const PlanOptions& options) {
    switch (options.fusion) {
      case Fusion::kNone:
        return {};
      case Fusion::kIdeal:
        return FusionSet::Compilers();
      case Fusion::kDefault:
        break;
    }
    return options.fuses;
  }

  static Grouping GroupingOf(const ValueGraph& values, const PlanOptions& options) {
    if (options.fusion == Fusion::kNone) return SeparateNodes(values);
    const bool apart = options.fusion == Fusion::kDefault && options.composed_apart;
    return FuseNodes(values, options.Form(), FusesOf(options), apart);
  }

  Kernel Make(std::size_t g) {
    const Group& group = grouping_.groups[g];
    Kernel kernel;
    kernel.id = "k" + std::to_string(g);
    kernel.nodes = group.nodes;
    kernel.main = group.main;
    std::string& label = labels_[group.parts];
    if (label.empty()) label = Label(group.parts);
    kernel.label = label;
    bool runs = false;
    for (const std::size_t n : group.nodes) {
      const CountedNode& counted = model_.nodes[n];
      kernel.unknown |= counted.status == NodeStatus::kUnknown;
      const bool node_runs =
          counted.status == NodeStatus::kCounted || counted.status == NodeStatus::kBounded;
      kernel.upper_bound |= node_runs && counted.upper_bound;
      kernel.assumed |= node_runs && counted.assumed;
      runs |= node_runs;
      kernel.work.Add(counted.cost.work);
      AddViews(n, kernel);
    }
    if (!runs) {
      kernel.repeat = 0;
      if (group.nodes.size() > 1) kernel.label = "known before the run";
      return kernel;
    }
    const CountedNode& main = model_.nodes[group.main];
    kernel.repeat = main.repeat;
    kernel.model_call = IsModelCode(group.main);
    kernel.nest = group.attention ? LoopNest(group.attention->nest) : main.cost.nest;
    if (!group.attention) kernel.parts = main.cost.parts;
    kernel.spelled_attention = group.attention != nullptr && group.attention->spelled;
    for (const std::size_t n : group.stacked) {
      std::get<GemmNest>(kernel.nest).n += std::get<GemmNest>(model_.nodes[n].cost.nest).n;
    }
    kernel.nest_name = std::visit(NameOfNest{}, kernel.nest);
    kernel.general = !strided_.placed.empty();
    kernel.places = PlacesOf(group);
    if (kernel.places > Count(0) && strided_.scattered[group.main])
      kernel.scattered = kernel.places;
    kernel.biased = group.kind == KernelKind::kProduct &&
                    std::any_of(group.nodes.begin(), group.nodes.end(),
                                [&](std::size_t n) { return AddsStoredVector(values_, n); });
    kernel.fills = kernel.general && strided_.filled[group.main];
    kernel.channels_last = kernel.general && strided_.channels_last[group.main];
    kernel.math = MathType(group);
    kernel.needed = Needed(group, kernel.math);
    const Traffic traffic = TrafficOf(g);
    kernel.bytes_read = traffic.read;
    kernel.bytes_written = traffic.written;
    kernel.bytes_passed = traffic.passed;
    kernel.bytes_weights = traffic.weights;
    // Control flow, whose bodies are kernels of their own, and tensors without elements.
    if (kernel.bytes() == Bytes(0) && kernel.work == Work() && !kernel.unknown) kernel.repeat = 0;
    return kernel;
  }

  // Pooling and normalization of images have kernels of their own, which take several results at
  // once no more than copies do.
  Count PlacesOf(const Group& group) const {
    if (strided_.placed.empty() || group.attention) return {};
    const LoopNest& nest = model_.nodes[group.main].cost.nest;
    const auto* reduced = std::get_if<ReduceNest>(&nest);
    const auto* elements = std::get_if<ElementwiseNest>(&nest);
    const bool image =
        (reduced != nullptr && reduced->windows) || (elements != nullptr && elements->normalizes);
    if (!image && !strided_.placed[group.main]) return {};
    const ValueId result = values_.Result(group.main, 0);
    if (result == kNoValue || !values_.tensor(result).type.shape) return {};
    const Count results = values_.tensor(result).type.shape->Elements();
    return results;
  }

  // How often a framework is called for what moves nothing.
  void AddViews(std::size_t n, Kernel& kernel) const {
    const CountedNode& counted = model_.nodes[n];
    if (counted.status == NodeStatus::kMetadata) return;
    if (IsInnerView(n)) return;
    if (values_.Runs(n) && !IsCopiedView(n)) {
      if (IsListOfProducts(n)) kernel.views += kViewsOfProduct * counted.repeat;
      return;
    }
    kernel.views += counted.repeat;
    if (IsForward(n)) kernel.model_views += counted.repeat;
    if (!values_.Runs(n) && counted.status != NodeStatus::kView) kernel.looks.push_back(n);
  }

  // Views around an instance normalization that exporters write for a group normalization: a call
  // of one function, inside which nobody asks for them.
  void FindInnerViews() {
    for (const Group& group : grouping_.groups) {
      if (std::find(group.parts.begin(), group.parts.end(), "group_norm") == group.parts.end())
        continue;
      for (const std::size_t n : group.nodes) {
        if (model_.nodes[n].node->op != "InstanceNormalization") continue;
        inner_.insert({values_.Operand(n, 0), values_.Result(n, 0)});
      }
    }
  }

  bool IsInnerView(std::size_t n) const {
    if (inner_.empty()) return false;
    return inner_.count(values_.Operand(n, 0)) != 0 || inner_.count(values_.Result(n, 0)) != 0;
  }

  // A product of matrices by more than one axis in front of them is one of a list of matrices: both
  // operands are expanded and reshaped, the result is reshaped too.
  // Source: PyTorch, aten/src/ATen/native/LinearAlgebra.cpp: _matmul_impl.
  static constexpr std::int64_t kViewsOfProduct = 5;
  bool IsListOfProducts(std::size_t n) const {
    const CountedNode& counted = model_.nodes[n];
    const auto* gemm = std::get_if<GemmNest>(&counted.cost.nest);
    if (gemm == nullptr || counted.node->op != "MatMul" || gemm->b_is_weight) return false;
    const ValueId value = values_.Operand(n, 0);
    return value != kNoValue && values_.tensor(value).type.shape &&
           values_.tensor(value).type.shape->rank() > 3;
  }

  // Asked for as a view, and copied for who reads it.
  bool IsCopiedView(std::size_t n) const {
    return values_.Runs(n) && AsksForView(*model_.nodes[n].node);
  }

  // Called by the model's own code, not by autograd or an optimizer.
  bool IsForward(std::size_t n) const {
    const Phase phase = model_.nodes[n].node->phase;
    return phase == Phase::kForward || phase == Phase::kRecompute || phase == Phase::kLoss;
  }

  // So is what computes. Copies belong to what needs them: types that autocast converts, data that
  // a reshape or product cannot view.
  bool IsModelCode(std::size_t n) const {
    return IsForward(n) && model_.nodes[n].node->op != "Cast" && !IsCopiedView(n);
  }

  // Folded nodes are done before the run, or on the way into the product.
  Work Needed(const Group& group, DType math) const {
    Work needed;
    for (const std::size_t n : group.nodes) {
      const bool folded =
          std::find(group.folded.begin(), group.folded.end(), n) != group.folded.end();
      if (values_.Runs(n) && !folded) needed.Add(model_.nodes[n].cost.work);
    }
    const Count macs = needed.Of(OpClass::kMac);
    if (macs == needed.Of(OpClass::kMac, math)) return needed;
    Work in_math = needed.WithoutMacs();
    in_math.Add(OpClass::kMac, math, macs);
    return in_math;
  }

  Traffic TrafficOf(std::size_t g) {
    switch (options_.fusion) {
      case Fusion::kNone:
        return traffic_.Separate(grouping_.groups[g].main);
      case Fusion::kIdeal:
        return traffic_.Compulsory(g);
      case Fusion::kDefault:
        break;
    }
    return traffic_.Fused(g);
  }

  // The type of most multiply-accumulates; the quantized one when both factors are dequantized on
  // the way in.
  DType MathType(const Group& group) const {
    DType type = DType::kUndefined;
    Count most;
    for (const std::size_t n : group.nodes) {
      for (const Work::Entry& entry : model_.nodes[n].cost.work.entries()) {
        const Count macs = entry.counts[static_cast<std::size_t>(OpClass::kMac)];
        if (macs <= most) continue;
        most = macs;
        type = entry.dtype;
      }
    }
    if (options_.fusion == Fusion::kNone || group.kind != KernelKind::kProduct) return type;
    const ValueId a = traffic_.Quantized(values_.Input(group.main, 0));
    const ValueId b = traffic_.Quantized(values_.Input(group.main, 1));
    if (a == kNoValue || b == kNoValue) return type;
    const DType a_type = values_.tensor(a).type.dtype, b_type = values_.tensor(b).type.dtype;
    return Bits(a_type) >= Bits(b_type) ? a_type : b_type;
  }

  const InferredModel& model_;
  const PlanOptions& options_;
  Strided strided_;  // empty where kernels take no strides
  ValueGraph values_;
  Grouping grouping_;
  TrafficCounter traffic_;
  std::set<ValueId> inner_;  // values between the nodes of one function
  std::map<std::vector<std::string_view>, std::string> labels_;  // by parts: layers repeat
};

}  // namespace

Plan MakePlan(const InferredModel& model, const PlanOptions& options) {
  Plan plan;
  plan.kernel_of.resize(model.nodes.size());
  ForEachKernel(model, options, [&](Kernel kernel) {
    for (const std::size_t n : kernel.nodes) plan.kernel_of[n] = plan.kernels.size();
    plan.kernels.push_back(std::move(kernel));
  });
  return plan;
}

void ForEachKernel(const InferredModel& model, const PlanOptions& options,
                   const std::function<void(Kernel)>& visit) {
  Planner(model, options).Run(visit);
}

}  // namespace dlcost
