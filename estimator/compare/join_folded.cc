#include "estimator/compare/join_folded.h"

#include <algorithm>
#include <map>
#include <set>

#include "estimator/compare/folded_slots.h"
#include "estimator/compare/op_family.h"

namespace dlcost {
namespace {

using enum KernelFamily;

class FoldedJoiner {
 public:
  FoldedJoiner(const std::vector<Slot>& slots, const std::vector<MeasuredKernel>& rows,
               const FoldedSlots& found, double runs, Tally& tally, Joined& joined)
      : slots_(slots), rows_(rows), found_(found), runs_(runs), tally_(tally), joined_(joined) {}

  void Run() {
    AddProducts();
    AddOthers();
  }

 private:
  double Launches(std::size_t r) const { return static_cast<double>(rows_[r].launches) / runs_; }

  static std::string OpsOf(const std::vector<Slot>& slots, const std::vector<std::size_t>& set) {
    std::string ops;
    std::set<std::string> seen;
    for (const std::size_t s : set) {
      if (seen.insert(slots[s].op).second) ops += (ops.empty() ? "" : ", ") + slots[s].op;
    }
    return ops;
  }

  Measured& Group(const std::vector<std::size_t>& set, bool beside) {
    if (set.size() == 1 && !beside) return joined_.kernels[slots_[set[0]].kernel];
    const auto [at, added] = groups_.emplace(std::pair(beside, set), joined_.shared.size());
    if (added) {
      Joined::Shared shared{OpsOf(slots_, set), {}, {}, beside};
      for (const std::size_t s : set) shared.kernels.push_back(slots_[s].kernel);
      joined_.shared.push_back(std::move(shared));
    }
    return joined_.shared[at->second].measured;
  }

  void AddProducts() {
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      if (!found_.IsWork(r) || found_.slots[r].empty()) continue;
      Measured& to = Group(found_.slots[r], false);
      tally_.Add(to, rows_[r], Launches(r), true);
      if (to.main.family == kUnknown || !IsProduct(to.main.family)) to.main = found_.told[r];
      const bool narrowed = found_.narrowed.contains(r);
      to.joined_by = narrowed ? "executed work of its launches"
                              : "family: the file folds launches by kernel name";
      to.confidence = narrowed ? 0.8 : 0.3;
      for (const std::size_t s : found_.slots[r]) {
        worked_.insert(s);
        methods_[s].insert(MethodOf(found_.told[r].algorithm));
      }
    }
  }

  // The products that a transform or an epilogue serves: those of its algorithm.
  std::vector<std::size_t> Served(const KernelName& told) const {
    const KernelMethod method = MethodOf(told.algorithm);
    std::vector<std::size_t> convolutions, products, same;
    for (const std::size_t s : worked_) {
      if (slots_[s].family == kConvolution) convolutions.push_back(s);
      products.push_back(s);
      if (method != KernelMethod::kNone && methods_.at(s).contains(method)) same.push_back(s);
    }
    if (told.family == kTransform) return same.empty() ? convolutions : same;
    if (told.family == kSoftmax || told.family == kRecurrent) {
      const KernelFamily of = told.family == kSoftmax ? kAttention : kRecurrent;
      std::erase_if(products, [&](std::size_t s) { return slots_[s].family != of; });
    }
    return products;
  }

  void AddOthers() {
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      const KernelFamily family = found_.told[r].family;
      if (found_.IsWork(r) && !found_.slots[r].empty()) continue;  // done
      const bool around = family == kTransform || family == kEpilogue || family == kElementwise ||
                          family == kLayout || (family == kSoftmax && Has(kAttention)) ||
                          (family == kRecurrent && Has(kRecurrent));
      if (!found_.slots[r].empty() && around && Beyond(family)) {
        // More launches than operators of the family: most are what products are followed by.
        std::vector<std::size_t> all = Served(found_.told[r]);
        all.insert(all.end(), found_.slots[r].begin(), found_.slots[r].end());
        std::sort(all.begin(), all.end());
        Measured& to = Group(all, true);
        tally_.Add(to, rows_[r], Launches(r), false);
        to.joined_by = "family, beside the products";
        to.confidence = 0.3;
      } else if (!found_.slots[r].empty()) {
        Measured& to = Group(found_.slots[r], false);
        tally_.Add(to, rows_[r], Launches(r), true);
        to.main = found_.told[r];
        to.joined_by = "family: the file folds launches by kernel name";
        to.confidence = 0.3;
      } else if (const auto served = Served(found_.told[r]); around && !served.empty()) {
        // One group of products: it is theirs. Several: beside them, told apart from none.
        const auto group = groups_.find(std::pair(false, served));
        const bool theirs = served.size() == 1 || group != groups_.end();
        Measured& to = Group(served, !theirs);
        tally_.Add(to, rows_[r], Launches(r), false);
        if (!theirs) {
          to.joined_by = "family, beside the products";
          to.confidence = 0.3;
        }
      } else {
        joined_.unmatched.push_back(
            tally_.Unmatched(rows_[r], Launches(r), WhyUnmatched(rows_[r], family)));
      }
    }
  }

  bool Beyond(KernelFamily family) const {
    double launches = 0, slots = 0;
    for (std::size_t r = 0; r < rows_.size(); ++r)
      launches += found_.told[r].family == family ? Launches(r) : 0;
    for (const Slot& slot : slots_) slots += slot.family == family ? 1 : 0;
    return launches > slots + 0.5;
  }

  bool Has(KernelFamily family) const {
    return std::any_of(worked_.begin(), worked_.end(),
                       [&](std::size_t s) { return slots_[s].family == family; });
  }

  const std::vector<Slot>& slots_;
  const std::vector<MeasuredKernel>& rows_;
  const FoldedSlots& found_;
  const double runs_;
  Tally& tally_;
  Joined& joined_;
  std::set<std::size_t> worked_;                           // slots with products
  std::map<std::size_t, std::set<KernelMethod>> methods_;  // of all kernels of a slot
  std::map<std::pair<bool, std::vector<std::size_t>>, std::size_t> groups_;  // to joined_.shared
};

}  // namespace

void JoinFolded(const Report& report, const std::vector<Slot>& slots,
                const std::vector<MeasuredKernel>& rows, const std::optional<Device>& device,
                std::int64_t runs, Tally& tally, Joined& joined) {
  const auto count = static_cast<double>(runs);
  const FoldedSlots found = FindFoldedSlots(report, slots, rows, device, count, tally);
  FoldedJoiner(slots, rows, found, count, tally, joined).Run();
}

}  // namespace dlcost
