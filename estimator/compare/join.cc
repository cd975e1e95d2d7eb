#include "estimator/compare/join.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "estimator/compare/align.h"
#include "estimator/compare/fold.h"
#include "estimator/compare/join_folded.h"
#include "estimator/compare/node_names.h"
#include "estimator/compare/op_family.h"
#include "estimator/compare/runs.h"
#include "estimator/compare/slots.h"
#include "estimator/compare/tally.h"
#include "estimator/profiles/text.h"
#include "models/operators/registry.h"

namespace dlcost {
namespace {

constexpr double kNameShare = 0.5;  // of the rows must carry a node's name to join by name

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

class Joiner {
 public:
  Joiner(const Report& report, const Measurement& measurement, const std::optional<Device>& device,
         std::optional<std::int64_t> runs)
      : report_(report),
        measurement_(measurement),
        device_(device),
        wanted_(runs),
        slots_(SlotsOf(report)),
        names_(report),
        tally_(report) {
    joined_.kernels.resize(report.kernels.size());
    for (std::size_t s = 0; s < slots_.size(); ++s) slot_of_.emplace(slots_[s].kernel, s);
  }

  Joined Run() {
    SelectRows();
    CountNames();
    std::size_t named = 0, folded = 0;
    for (const MeasuredKernel& kernel : rows_) {
      named += NameOf(kernel).has_value();
      folded += kernel.launches > 1 && !kernel.start;
    }
    // VTune's functions stand in the order of their time, and how often they ran is not told.
    const bool sums = measurement_.format == "vtune";
    if (!rows_.empty() &&
        static_cast<double>(named) >= kNameShare * static_cast<double>(rows_.size())) {
      JoinByName();
    } else if (folded > 0 || sums) {
      JoinSums(sums);
    } else {
      JoinInOrder();
    }
    if (tally_.foreign_types()) {
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

  // The node that the row names: by its operator, or by the innermost range around it that names
  // one.
  std::optional<NodeNames::Match> NameOf(const MeasuredKernel& kernel) const {
    if (auto match = names_.Find(kernel.op)) return match;
    for (auto range = kernel.scope.rbegin(); range != kernel.scope.rend(); ++range) {
      if (auto match = names_.Find(*range)) {
        match->how += " of a range around it";
        return match;
      }
    }
    return std::nullopt;
  }

  // Names that rows carry, against the model's. Calls of PyTorch are no names of nodes.
  void CountNames() {
    std::map<std::string, bool> seen;
    std::set<std::string> ops;
    for (const NodeRow& node : report_.nodes) ops.insert(node.op);
    for (const MeasuredKernel& kernel : rows_) {
      if (kernel.op.empty() || kernel.op == kernel.op_type || IsForeign(kernel)) continue;
      const auto match = NameOf(kernel);
      if (!seen.emplace(kernel.op, true).second) continue;
      if (!match) {
        // Fused operators, of types that the model has none of, are the runtime's own.
        const bool of_model = kernel.op_type.empty() || ops.contains(kernel.op_type);
        joined_.names.missing += of_model && !names_.MayBeInserted(kernel.op);
        continue;
      }
      ++joined_.names.found;
      const std::string& op = report_.kernels[match->kernel].op;
      const bool own = match->how == "name" && report_.kernels[match->kernel].nodes.size() == 1;
      const bool other = FindOperator("", kernel.op_type) && kernel.op_type != op;
      joined_.names.other_type += own && other;
    }
  }

  // How often the model ran in a file whose rows name nodes: what all their launches have in
  // common.
  std::int64_t RunsByName() {
    if (wanted_) return joined_.runs_from = "told by --runs", *wanted_;
    if (measurement_.runs > 0) return joined_.runs_from = "told by the file", measurement_.runs;
    std::map<std::pair<std::size_t, std::string>, std::int64_t> launches;
    for (const MeasuredKernel& kernel : rows_) {
      if (const auto match = NameOf(kernel))
        launches[{match->kernel, kernel.name}] += kernel.launches;
    }
    std::int64_t common = 0;
    for (const auto& [key, count] : launches) common = std::gcd(common, count);
    if (common > 1) joined_.runs_from = fmt::format("{} divides the launches of all nodes", common);
    return std::max<std::int64_t>(common, 1);
  }

  void JoinByName() {
    joined_.runs = RunsByName();
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      const MeasuredKernel& kernel = rows_[r];
      const double launches =
          static_cast<double>(kernel.launches) / static_cast<double>(joined_.runs);
      if (const auto match = NameOf(kernel)) {
        Measured& to = joined_.kernels[match->kernel];
        const KernelName told = ToldBy(kernel);
        const bool main = !IsProduct(to.main.family);
        tally_.Add(to, kernel, launches, main && IsProduct(told.family));
        if (main) to.main = told;
        to.joined_by = match->how;
        to.confidence = match->confidence;
      } else {
        std::string why = IsForeign(kernel) ? WhyUnmatched(kernel, ToldBy(kernel).family)
                                            : names_.WhyUnknown(kernel.op);
        joined_.unmatched.push_back(tally_.Unmatched(kernel, launches, std::move(why)));
      }
    }
  }

  static bool IsForeign(const MeasuredKernel& kernel) {
    const KernelFamily family = ToldBy(kernel).family;
    return family == KernelFamily::kCommunication || family == KernelFamily::kFill ||
           family == KernelFamily::kRandom || family == KernelFamily::kDropout;
  }

  void JoinSums(bool launches_told) {
    std::vector<FoldedRow> rows;
    for (const MeasuredKernel& kernel : rows_) {
      const KernelName told = ToldBy(kernel);
      const auto launches = static_cast<double>(kernel.launches);
      FoldedRow row;
      row.launches = launches_told ? 0 : kernel.launches;
      row.product = IsProduct(told.family);
      const auto flops = tally_.VectorFlops(kernel);
      if (flops && !told.tensor) row.flops = *flops * launches;
      if (kernel.duration) row.seconds = kernel.duration->value() * launches;
      rows.push_back(row);
    }
    RunCount count = InferRuns(rows, slots_);
    if (wanted_) {
      count = {*wanted_, "told by --runs"};
    } else if (measurement_.runs > 0) {
      count = {measurement_.runs, "told by the file"};
    }
    joined_.runs = count.runs;
    joined_.runs_from = count.from;
    joined_.runs_by_work = count.by_work;
    joined_.folded = true;
    double launches = 0, uneven = 0;
    for (const FoldedRow& row : rows) {
      if (!row.product) continue;
      launches += static_cast<double>(row.launches);
      if (row.launches % count.runs != 0) uneven += static_cast<double>(row.launches);
    }
    if (launches > 0) joined_.uneven = uneven / launches;
    std::int64_t common = 0, names = 0;
    for (const FoldedRow& row : rows) {
      if (!row.product || row.launches % count.runs != 0 || row.launches == 0) continue;
      common = std::gcd(common, row.launches / count.runs);
      ++names;
    }
    if (names >= 3 && common > 1) joined_.repeats = common;
    JoinFolded(report_, slots_, rows_, device_, count.runs, tally_, joined_);
    joined_.notes.push_back(
        "the file folds launches by kernel name: rows are sums over operators where these cannot "
        "be told apart; a trace (one row per launch) tells them apart");
  }

  void JoinInOrder() {
    const Folded folded = FoldRuns(rows_, ProductsOf(slots_), wanted_);
    joined_.runs = folded.runs;
    if (wanted_) {
      joined_.runs_from = "told by --runs";
    } else if (folded.runs > 1) {
      joined_.runs_from = "the launches repeat so often";
    }
    joined_.notes.insert(joined_.notes.end(), folded.notes.begin(), folded.notes.end());
    for (const MeasuredKernel& kernel : folded.before) {
      joined_.unmatched.push_back(
          tally_.Unmatched(kernel, 1, "launched before the first run: set-up"));
      joined_.unmatched.back().before = true;
    }
    SetIdle(folded.kernels);
    joined_.repeats = Repeats(folded.kernels);
    AlignRun(folded.kernels, joined_.kernels, true);
    if (folded.apart.size() < 2) return;
    std::vector<std::vector<Measured>> runs;
    for (const std::vector<MeasuredKernel>& run : folded.apart) {
      runs.emplace_back(report_.kernels.size());
      AlignRun(run, runs.back(), false);
    }
    for (std::size_t k = 0; k < joined_.kernels.size(); ++k)
      TakeMedians(joined_.kernels[k], runs, k);
  }

  // The times and counts of a predicted kernel over runs that were joined one by one.
  static void TakeMedians(Measured& to, const std::vector<std::vector<Measured>>& runs,
                          std::size_t k) {
    std::vector<double> times, flops;
    for (const std::vector<Measured>& run : runs) {
      if (run[k].time) times.push_back(run[k].time->value());
      if (run[k].vector_flops) flops.push_back(*run[k].vector_flops);
    }
    if (to.time && !times.empty()) to.time = Seconds(Median(times));
    if (to.vector_flops && !flops.empty()) to.vector_flops = Median(flops);
  }

  void AlignRun(const std::vector<MeasuredKernel>& kernels, std::vector<Measured>& into,
                bool keep_rest) {
    std::vector<Item> items;
    std::vector<std::vector<std::size_t>> members;
    MakeItems(kernels, items, members);
    const std::vector<Assignment> assignments = Align(slots_, items);
    for (std::size_t i = 0; i < items.size(); ++i) {
      const Assignment& to = assignments[i];
      for (const std::size_t m : members[i]) {
        const MeasuredKernel& kernel = kernels[m];
        if (to.slot < 0) {
          if (keep_rest) {
            joined_.unmatched.push_back(
                tally_.Unmatched(kernel, 1, WhyUnmatched(kernel, items[i].family)));
          }
          continue;
        }
        const Slot& slot = slots_[static_cast<std::size_t>(to.slot)];
        Measured& measured = into[slot.kernel];
        tally_.Add(measured, kernel, 1, to.main);
        if (to.main) Explain(measured, slot, items[i], kernel);
      }
    }
  }

  // Kernels of one call of the framework belong together.
  void MakeItems(const std::vector<MeasuredKernel>& kernels, std::vector<Item>& items,
                 std::vector<std::vector<std::size_t>>& members) {
    std::map<std::int64_t, std::size_t> of_calls;  // items
    for (std::size_t k = 0; k < kernels.size(); ++k) {
      const MeasuredKernel& kernel = kernels[k];
      const KernelName name = ToldBy(kernel);
      const std::optional<double> flops = tally_.VectorFlops(kernel);
      if (kernel.call >= 0) {
        const auto [call, added] = of_calls.emplace(kernel.call, items.size());
        if (!added) {
          Item& item = items[call->second];
          members[call->second].push_back(k);
          item.tensor |= name.tensor;
          if (flops) item.flops = item.flops.value_or(0) + *flops;
          if (kernel.duration) item.seconds = item.seconds.value_or(0) + kernel.duration->value();
          continue;
        }
      }
      const KernelFamily of_call =
          kernel.call >= 0 ? FamilyOfCall(kernel.op) : KernelFamily::kUnknown;
      Item item{.name = kernel.call >= 0 ? kernel.op : kernel.name,
                .family = of_call == KernelFamily::kUnknown ? name.family : of_call,
                .tensor = name.tensor,
                .flops = flops};
      item.depthwise = Contains(name.algorithm, "depthwise");
      if (kernel.duration) item.seconds = kernel.duration->value();
      if (const auto match = NameOf(kernel)) {
        const auto slot = slot_of_.find(match->kernel);
        if (slot != slot_of_.end()) item.named = static_cast<int>(slot->second);
      }
      items.push_back(std::move(item));
      members.push_back({k});
    }
  }

  // How sure the alignment is of a main item.
  void Explain(Measured& measured, const Slot& slot, const Item& item,
               const MeasuredKernel& kernel) {
    const KernelName name = ToldBy(kernel);
    const bool product =
        name.family == slot.family || measured.main.family == KernelFamily::kUnknown;
    if (product) measured.main = name;
    const bool by_call = kernel.call >= 0;
    const bool by_family = item.family == slot.family;
    measured.joined_by = by_call ? "launching call" : "order";
    measured.confidence = by_call ? 0.9 : 0.5;
    if (item.named >= 0) {
      measured.joined_by = "name of a range around it";
      measured.confidence = 0.95;
    }
    if (by_family) {
      measured.joined_by += ", family";
      measured.confidence += measured.confidence > 0.5 ? 0.05 : 0.25;
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

  const Report& report_;
  const Measurement& measurement_;
  const std::optional<Device>& device_;
  const std::optional<std::int64_t> wanted_;
  const std::vector<Slot> slots_;
  const NodeNames names_;
  std::map<std::size_t, std::size_t> slot_of_;  // of a predicted kernel
  Tally tally_;
  std::vector<MeasuredKernel> rows_;
  Joined joined_;
};

}  // namespace

Joined Join(const Report& report, const Measurement& measurement,
            const std::optional<Device>& device, std::optional<std::int64_t> runs) {
  return Joiner(report, measurement, device, runs).Run();
}

}  // namespace dlcost
