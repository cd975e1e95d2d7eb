#include "estimator/compare/join_ordered.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "estimator/compare/align.h"
#include "estimator/compare/fold.h"
#include "estimator/compare/op_family.h"

namespace dlcost {
namespace {

class OrderedJoiner {
 public:
  OrderedJoiner(const Report& report, const std::vector<Slot>& slots, const NodeNames& names,
                const std::vector<MeasuredKernel>& rows, const std::optional<Device>& device,
                std::optional<std::int64_t> runs, Tally& tally, Joined& joined)
      : report_(report),
        slots_(slots),
        names_(names),
        rows_(rows),
        wanted_(runs),
        matrix_(MayUseMatrixPipe(report, device)),
        tally_(tally),
        joined_(joined) {
    for (std::size_t s = 0; s < slots_.size(); ++s) slot_of_.emplace(slots_[s].kernel, s);
  }

  void Run() {
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

 private:
  // The times and counts of a predicted kernel over runs that were joined one by one and gave it
  // the same kernels.
  static void TakeMedians(Measured& to, const std::vector<std::vector<Measured>>& runs,
                          std::size_t k) {
    std::vector<double> times, hosts, flops;
    for (const std::vector<Measured>& run : runs) {
      if (run[k].names != to.names) continue;
      if (run[k].time) times.push_back(run[k].time->value());
      if (run[k].host) hosts.push_back(run[k].host->value());
      if (run[k].vector_flops) flops.push_back(*run[k].vector_flops);
    }
    if (to.time && !times.empty()) to.time = Seconds(Median(times));
    if (to.host && !hosts.empty()) to.host = Seconds(Median(hosts));
    if (to.vector_flops && !flops.empty()) to.vector_flops = Median(flops);
  }

  void AlignRun(const std::vector<MeasuredKernel>& kernels, std::vector<Measured>& into,
                bool keep_rest) {
    std::vector<Item> items;
    std::vector<std::vector<std::size_t>> members;
    MakeItems(kernels, items, members);
    Settle(items);
    std::vector<Assignment> assignments = Align(slots_, items);
    // What is learnt of the clearest names gives others their places.
    for (const double share : {0.75, 0.0}) {
      if (!keep_rest || !Learn(items, assignments, share)) break;
      Settle(items);
      assignments = Align(slots_, items);
    }
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

  // A kernel does one thing: what most launches of a name that tells nothing are, all of them are.
  // Of attention and recurrent cells, which own several, they may be any part. Learns of names of
  // which at least this share of the launches are the same; whether there is anything to learn.
  bool Learn(const std::vector<Item>& items, const std::vector<Assignment>& assignments,
             double share) {
    std::map<std::string, std::map<KernelFamily, int>> launches;
    std::set<std::string> parts;
    for (std::size_t i = 0; i < items.size(); ++i) {
      const Item& item = items[i];
      if (item.family != KernelFamily::kUnknown || item.named >= 0) continue;
      KernelFamily family = KernelFamily::kUnknown;
      if (assignments[i].slot >= 0) {
        const Slot& slot = slots_[static_cast<std::size_t>(assignments[i].slot)];
        family = IsProduct(slot.family) ? KernelFamily::kGemm : slot.family;
        if (slot.several) parts.insert(item.name);
      }
      launches[item.name][family] += 1;
    }
    bool mixed = false;
    for (const auto& [name, of] : launches) {
      if (parts.contains(name)) continue;
      // Of as many launches of both, rather something than nothing.
      const auto rank = [](const auto& each) {
        return std::pair(each.second, each.first != KernelFamily::kUnknown);
      };
      const auto most = std::max_element(
          of.begin(), of.end(), [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
      int all = 0;
      for (const auto& [family, count] : of) all += count;
      mixed |= of.size() > 1;
      if (most->second >= share * all) learnt_.emplace(name, most->first);
    }
    return mixed;
  }

  void Settle(std::vector<Item>& items) const {
    for (Item& item : items) {
      const auto learnt = learnt_.find(item.name);
      if (learnt != learnt_.end() && item.family == KernelFamily::kUnknown && item.named < 0)
        item.learnt = learnt->second;
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
      item.depthwise = MethodOf(name.algorithm) == KernelMethod::kDepthwise;
      if (kernel.duration) item.seconds = kernel.duration->value();
      if (const auto match = names_.Of(kernel)) {
        const auto slot = slot_of_.find(match->kernel);
        if (slot != slot_of_.end()) item.named = static_cast<int>(slot->second);
      }
      items.push_back(std::move(item));
      members.push_back({k});
    }
    const bool matrix = matrix_ || std::any_of(items.begin(), items.end(),
                                               [](const Item& item) { return item.tensor; });
    for (Item& item : items) item.may_be_tensor = matrix && item.family == KernelFamily::kUnknown;
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
      measured.by_name = true;
      measured.confidence = 0.95;
    }
    if (by_family) {
      measured.family_told = true;
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
    joined_.span = Seconds(end - kernels[0].start->value());
  }

  const Report& report_;
  const std::vector<Slot>& slots_;
  const NodeNames& names_;
  const std::vector<MeasuredKernel>& rows_;
  const std::optional<std::int64_t> wanted_;
  const bool matrix_;
  Tally& tally_;
  Joined& joined_;
  std::map<std::size_t, std::size_t> slot_of_;  // of a predicted kernel
  std::map<std::string, KernelFamily> learnt_;  // Item::learnt of names
};

}  // namespace

void JoinOrdered(const Report& report, const std::vector<Slot>& slots, const NodeNames& names,
                 const std::vector<MeasuredKernel>& rows, const std::optional<Device>& device,
                 std::optional<std::int64_t> runs, Tally& tally, Joined& joined) {
  OrderedJoiner(report, slots, names, rows, device, runs, tally, joined).Run();
}

}  // namespace dlcost
