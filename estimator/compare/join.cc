#include "estimator/compare/join.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <unordered_map>

#include "estimator/compare/align.h"
#include "estimator/compare/fold.h"
#include "estimator/compare/node_names.h"
#include "estimator/compare/op_family.h"

namespace dlcost {
namespace {

constexpr double kNameShare = 0.5;  // of the rows must carry a node's name to join by name

template <typename T>
void Sum(std::optional<T>& into, const std::optional<T>& what) {
  if (what) into = into ? *into + *what : *what;
}

std::optional<double> Times(std::optional<double> value, double factor) {
  return value ? std::optional(*value * factor) : std::nullopt;
}

std::optional<double> ValueOf(const MeasuredKernel& kernel, Metric metric) {
  const Counter* counter = kernel.Find(metric);
  return counter ? std::optional(counter->value) : std::nullopt;
}

std::string WhyUnmatched(const MeasuredKernel& kernel, KernelFamily family) {
  if (kernel.kind == MeasuredKind::kCopy) return "copy or fill of memory: no operator's work";
  switch (family) {
    case KernelFamily::kDropout:
      return "dropout: the model ran in training mode";
    case KernelFamily::kRandom:
      return "random numbers: no operator makes them here";
    case KernelFamily::kFill:
      return "fills memory: no operator's work";
    case KernelFamily::kLayout:
      return "layout change that the runtime inserted";
    case KernelFamily::kUnknown:
      return "its name tells nothing and nothing is left for its place";
    default:
      return "the model has no " + std::string(Name(family)) + " operator left for its place";
  }
}

class Joiner {
 public:
  Joiner(const Report& report, const Measurement& measurement)
      : report_(report), measurement_(measurement) {
    joined_.kernels.resize(report.kernels.size());
    counted_ = {Metric::kFlops, Metric::kFlopsF32};  // narrow types accumulate in fp32
    for (const Work::Entry& entry : report.totals.work.entries()) {
      if (entry.dtype == DType::kFloat16 || entry.dtype == DType::kBfloat16) {
        counted_.insert(Metric::kFlopsF16);
      }
      if (entry.dtype == DType::kFloat64) counted_.insert(Metric::kFlopsF64);
    }
  }

  Joined Run() {
    SelectRows();
    NodeNames names(report_);
    std::size_t named = 0, folded = 0;
    for (const MeasuredKernel& kernel : rows_) {
      named += names.Find(kernel.op).has_value();
      folded += kernel.launches > 1 && !kernel.start;
    }
    if (!rows_.empty() &&
        static_cast<double>(named) >= kNameShare * static_cast<double>(rows_.size())) {
      JoinByName(names);
    } else if (folded > 0) {
      JoinByFamily();
    } else {
      JoinInOrder();
    }
    if (foreign_types_) {
      joined_.notes.push_back(
          "FLOPs of types that the model does not compute in are left out: such "
          "instructions move constants and compute sizes");
    }
    return std::move(joined_);
  }

 private:
  // Kernels where there are any, else the framework's operators; never both, nor API calls.
  void SelectRows() {
    const auto& all = measurement_.kernels;
    const bool on_device = std::any_of(all.begin(), all.end(), [](const MeasuredKernel& k) {
      return k.kind == MeasuredKind::kKernel;
    });
    std::int64_t copies = 0, calls = 0;
    for (const MeasuredKernel& kernel : all) {
      if (kernel.kind == MeasuredKind::kCopy) {
        ++copies;
      } else if (kernel.kind == MeasuredKind::kApi ||
                 (on_device && kernel.kind == MeasuredKind::kOp)) {
        ++calls;
      } else {
        rows_.push_back(kernel);
      }
    }
    joined_.notes = measurement_.notes;
    if (copies > 0)
      joined_.notes.push_back(fmt::format("{} copies and fills of memory left out", copies));
    if (calls > 0)
      joined_.notes.push_back(fmt::format("{} host calls left out: only kernels count", calls));
  }

  // FLOPs of the types that the model computes in. Kernels of other types execute a few of them all
  // the same: HFMA2 moves constants, fp64 computes sizes.
  std::optional<double> VectorFlops(const MeasuredKernel& kernel) {
    std::optional<double> sum;
    for (const Counter& counter : kernel.counters) {
      if (counted_.contains(counter.metric)) {
        Sum(sum, std::optional(counter.value));
      } else if ((counter.metric == Metric::kFlopsF16 || counter.metric == Metric::kFlopsF64) &&
                 counter.value > 0) {
        foreign_types_ = true;
      }
    }
    return sum;
  }

  void Add(Measured& to, const MeasuredKernel& kernel, double launches) {
    if (std::find(to.names.begin(), to.names.end(), kernel.name) == to.names.end()) {
      to.names.push_back(kernel.name);
    }
    const KernelName name = ReadKernelName(kernel.name);
    to.tensor |= name.tensor;
    to.launches += launches;
    Sum(to.vector_flops, Times(VectorFlops(kernel), launches));
    Sum(to.tensor_flops, Times(ValueOf(kernel, Metric::kTensorFlops), launches));
    Sum(to.tensor_instructions, Times(ValueOf(kernel, Metric::kTensorInstructions), launches));
    Sum(to.dram_bytes, Times(kernel.DramBytes(), launches));
    if (kernel.duration) {
      const Seconds time = *kernel.duration * launches;
      Sum(to.time, std::optional(time));
      if (const auto occupancy = ValueOf(kernel, Metric::kOccupancy)) to.occupancy = occupancy;
    } else if (const auto occupancy = ValueOf(kernel, Metric::kOccupancy)) {
      to.occupancy = occupancy;
    }
  }

  void AddUnmatched(const MeasuredKernel& kernel, double launches, std::string why) {
    joined_.unmatched.push_back(
        {kernel.name, std::move(why), launches,
         kernel.duration ? std::optional(*kernel.duration * launches) : std::nullopt,
         Times(VectorFlops(kernel), launches), Times(kernel.DramBytes(), launches)});
  }

  void JoinByName(const NodeNames& names) {
    joined_.runs = std::max<std::int64_t>(measurement_.runs, 1);
    for (const MeasuredKernel& kernel : rows_) {
      const double launches =
          static_cast<double>(kernel.launches) / static_cast<double>(joined_.runs);
      if (const auto match = names.Find(kernel.op)) {
        Measured& to = joined_.kernels[match->kernel];
        Add(to, kernel, launches);
        to.main = ReadKernelName(kernel.name);
        to.joined_by = match->how;
        to.confidence = match->confidence;
      } else {
        AddUnmatched(kernel, launches, names.WhyUnknown(kernel.op));
      }
    }
  }

  bool Launched(std::size_t k) const { return report_.kernels[k].launches > Count(0); }

  // Vector FLOPs that a counter should see.
  std::optional<double> Predicted(std::size_t k) const {
    const KernelRow& kernel = report_.kernels[k];
    return kernel.executed == Flops() ? std::nullopt : std::optional(kernel.executed.AsDouble());
  }

  void JoinInOrder() {
    std::vector<Slot> slots;
    std::vector<std::size_t> kernel_of;
    std::int64_t products = 0;
    for (std::size_t k = 0; k < report_.kernels.size(); ++k) {
      if (!Launched(k)) continue;
      const KernelRow& kernel = report_.kernels[k];
      slots.push_back({kernel.op, FamilyOfOnnxOp(kernel.op), true, Predicted(k)});
      kernel_of.push_back(k);
      products += kernel.sums.macs > Macs(0);
    }
    Folded folded = FoldRuns(rows_, products);
    joined_.runs = folded.runs;
    joined_.notes.insert(joined_.notes.end(), folded.notes.begin(), folded.notes.end());
    for (const MeasuredKernel& kernel : folded.before) {
      AddUnmatched(kernel, 1, "launched before the first run: set-up");
    }
    SetIdle(folded.kernels);

    std::vector<Item> items;
    std::vector<std::vector<std::size_t>> members;
    MakeItems(folded.kernels, items, members);
    const std::vector<Assignment> assignments = Align(slots, items);
    for (std::size_t i = 0; i < items.size(); ++i) {
      const Assignment& to = assignments[i];
      for (const std::size_t m : members[i]) {
        const MeasuredKernel& kernel = folded.kernels[m];
        if (to.slot < 0) {
          AddUnmatched(kernel, 1, WhyUnmatched(kernel, items[i].family));
          continue;
        }
        Measured& measured = joined_.kernels[kernel_of[static_cast<std::size_t>(to.slot)]];
        Add(measured, kernel, 1);
        if (to.main) Explain(measured, slots[static_cast<std::size_t>(to.slot)], items[i], kernel);
      }
    }
  }

  // Kernels of one call of the framework belong together.
  void MakeItems(const std::vector<MeasuredKernel>& kernels, std::vector<Item>& items,
                 std::vector<std::vector<std::size_t>>& members) {
    for (std::size_t k = 0; k < kernels.size(); ++k) {
      const MeasuredKernel& kernel = kernels[k];
      const KernelName name = ReadKernelName(kernel.name);
      const bool same_call = k > 0 && kernel.call >= 0 && kernel.call == kernels[k - 1].call;
      if (same_call) {
        members.back().push_back(k);
        items.back().tensor |= name.tensor;
        if (VectorFlops(kernel))
          items.back().flops = items.back().flops.value_or(0) + *VectorFlops(kernel);
        continue;
      }
      const KernelFamily of_call =
          kernel.call >= 0 ? FamilyOfCall(kernel.op) : KernelFamily::kUnknown;
      items.push_back({kernel.call >= 0 ? kernel.op : kernel.name,
                       of_call == KernelFamily::kUnknown ? name.family : of_call, name.tensor,
                       VectorFlops(kernel)});
      members.push_back({k});
    }
  }

  // How sure the alignment is of a main item.
  void Explain(Measured& measured, const Slot& slot, const Item& item,
               const MeasuredKernel& kernel) {
    const KernelName name = ReadKernelName(kernel.name);
    const bool product =
        name.family == slot.family || measured.main.family == KernelFamily::kUnknown;
    if (product) measured.main = name;
    const bool by_call = kernel.call >= 0;
    const bool by_family = item.family == slot.family;
    measured.joined_by = by_call ? "launching call" : "order";
    measured.confidence = by_call ? 0.9 : 0.5;
    if (by_family) {
      measured.joined_by += ", family";
      measured.confidence += by_call ? 0.05 : 0.25;
    }
    if (item.flops && slot.flops && *slot.flops > 0 && !item.tensor) {
      const double difference = std::abs(*item.flops / *slot.flops - 1);
      if (difference < 0.25) {
        measured.joined_by += fmt::format(", FLOPs within {:.0f} %", std::ceil(difference * 100));
        measured.confidence = std::min(1.0, measured.confidence + 0.2);
      }
    }
  }

  void SetIdle(const std::vector<MeasuredKernel>& kernels) {
    if (kernels.empty() || !kernels[0].start || !kernels[0].duration) return;
    double idle = 0, end = kernels[0].start->value();
    for (const MeasuredKernel& kernel : kernels) {
      if (!kernel.start || !kernel.duration) return;
      idle += std::max(0.0, kernel.start->value() - end);
      end = std::max(end, (*kernel.start + *kernel.duration).value());
    }
    joined_.idle = Seconds(idle);
  }

  void JoinByFamily() {
    std::map<KernelFamily, std::size_t> group_of;
    std::map<KernelFamily, std::vector<std::size_t>> slots;
    for (std::size_t k = 0; k < report_.kernels.size(); ++k) {
      if (Launched(k)) slots[FamilyOfOnnxOp(report_.kernels[k].op)].push_back(k);
    }
    for (const MeasuredKernel& kernel : rows_) {
      const auto launches = static_cast<double>(kernel.launches);
      KernelFamily family = ReadKernelName(kernel.name).family;
      const bool around_product =
          family == KernelFamily::kTransform || family == KernelFamily::kEpilogue;
      if (around_product || (family == KernelFamily::kGemm && !slots.contains(family))) {
        family = slots.contains(KernelFamily::kConvolution) ? KernelFamily::kConvolution
                                                            : KernelFamily::kGemm;
      }
      const auto found = slots.find(family);
      if (found == slots.end()) {
        AddUnmatched(kernel, launches, WhyUnmatched(kernel, family));
        continue;
      }
      const auto [group, added] = group_of.emplace(family, joined_.shared.size());
      if (added) joined_.shared.push_back({std::string(Name(family)), found->second, {}});
      Measured& to = joined_.shared[group->second].measured;
      Add(to, kernel, launches);
      to.joined_by = "family: the file folds launches by kernel name";
      to.confidence = 0.3;
    }
    joined_.notes.push_back(
        "the file folds launches by kernel name: rows are sums over operators of a "
        "family, and over all runs in it; a trace (one row per launch) tells layers apart");
  }

  const Report& report_;
  const Measurement& measurement_;
  std::set<Metric> counted_;
  bool foreign_types_ = false;
  std::vector<MeasuredKernel> rows_;
  Joined joined_;
};

}  // namespace

Joined Join(const Report& report, const Measurement& measurement) {
  return Joiner(report, measurement).Run();
}

}  // namespace dlcost
