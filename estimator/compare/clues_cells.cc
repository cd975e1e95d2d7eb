#include <algorithm>
#include <cmath>
#include <map>

#include "estimator/compare/clues.h"
#include "estimator/compare/op_family.h"

namespace dlcost {
namespace {

using enum KernelFamily;

// Recurrent cells leave a trace beside their products; and these are launched once for all inputs
// and once for every step. Kernels whose names tell nothing may be either, if they launch as
// often.
class CellClues {
 public:
  explicit CellClues(const ClueSource& source)
      : source_(source), report_(source.report), joined_(source.joined), slots_(source.slots) {}

  void Run() {
    Look();
    if (std::none_of(slots_.begin(), slots_.end(),
                     [](const Slot& slot) { return slot.family == kRecurrent; })) {
      if (cells_) Add(-4, "it has kernels of recurrent cells, and the model has none");
      return;
    }
    const auto [launched, planned] = RecurrentLaunches();
    const double known = launched, all = planned;
    const auto same = [](double a, double b) { return b > 1 && std::abs(a / b - 1) < 0.02; };
    const auto any = [&](const auto& fits) {
      return std::any_of(unknown_.begin(), unknown_.end(),
                         [&](const auto& entry) { return fits(entry.second); });
    };
    double steps = 0;
    for (const Slot& slot : slots_) steps += Steps(slot);
    if (cells_) {
      Add(1.5, "kernels of recurrent cells were found");
    } else if (same(known, all)) {
      Add(1.5, fmt::format("its products launch {:.6g} times, as recurrent cells of the model do",
                           known));
    } else if (any([&](double count) { return same(known + count, all) || same(count, steps); })) {
      Add(0.5, "kernels whose names tell nothing launch as often as recurrent cells");
    } else {
      Add(-1.5, "kernels of recurrent cells were not found");
    }
  }

 private:
  void Add(double bits, std::string text) const { source_.Add(bits, std::move(text)); }

  void Look() {
    const auto look = [&](const Measured& measured) {
      for (const MeasuredPart& part : measured.parts) Count(part.told.family, part);
    };
    for (const Measured& measured : joined_.kernels) look(measured);
    for (const Joined::Shared& group : joined_.shared) look(group.measured);
    for (const UnmatchedKernel& kernel : joined_.unmatched) Count(kernel.family, kernel);
  }

  void Count(KernelFamily family, const auto& launched) {
    cells_ |= family == kRecurrent;
    if (family == kUnknown) unknown_[launched.name] += launched.launches;
  }

  // Steps of a recurrent operator, over its directions; 0 for others.
  double Steps(const Slot& slot) const {
    const KernelRow& kernel = report_.kernels[slot.kernel];
    const auto* nest = std::get_if<RecurrentNest>(&kernel.nest);
    return nest ? (nest->directions * nest->steps * kernel.repeat).AsDouble() : 0;
  }

  // Products of an operator: of a recurrent one a product for all inputs, then one for every step.
  double Launches(const Slot& slot) const {
    return slot.family == kRecurrent ? 1 + Steps(slot) : slot.products;
  }

  // Launches of products at operators with recurrent ones among them, and those planned.
  std::pair<double, double> RecurrentLaunches() const {
    std::map<std::size_t, const Slot*> of;
    for (const Slot& slot : slots_) of[slot.kernel] = &slot;
    const auto products = [](const Measured& measured) {
      double launches = 0;
      for (const MeasuredPart& part : measured.parts)
        launches += IsProduct(part.told.family) ? part.launches : 0;
      return launches;
    };
    double launched = 0, planned = 0;
    for (const Slot& slot : slots_) {
      if (slot.family != kRecurrent || !joined_.kernels[slot.kernel].any()) continue;
      launched += products(joined_.kernels[slot.kernel]);
      planned += Launches(slot);
    }
    for (const Joined::Shared& group : joined_.shared) {
      const bool recurrent =
          std::any_of(group.kernels.begin(), group.kernels.end(),
                      [&](std::size_t k) { return of.at(k)->family == kRecurrent; });
      if (group.beside || !recurrent) continue;
      launched += products(group.measured);
      for (const std::size_t k : group.kernels) planned += Launches(*of.at(k));
    }
    return {launched, planned};
  }

  const ClueSource& source_;
  const Report& report_;
  const Joined& joined_;
  const std::vector<Slot>& slots_;
  bool cells_ = false;                     // there are kernels of recurrent cells
  std::map<std::string, double> unknown_;  // launches of kernels whose names tell nothing
};

}  // namespace

void AddCellClues(const ClueSource& source) { CellClues(source).Run(); }

}  // namespace dlcost
