#include "estimator/compare/found_operators.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "estimator/compare/op_family.h"

namespace dlcost {
namespace {

using enum KernelFamily;

class FoundCounter {
 public:
  FoundCounter(const Report& report, const Joined& joined, const std::vector<Slot>& slots)
      : report_(report), joined_(joined), slots_(slots) {}

  FoundOperators Run() {
    std::map<std::size_t, KernelFamily> family;
    std::map<std::size_t, double> most_of;
    for (const Slot& slot : slots_) {
      most_of[slot.kernel] = slot.most;
      family[slot.kernel] = slot.family;
      out_.families[slot.family].model += 1;
    }
    out_.telling = ShareThatTells();
    FindUnknown();
    for (const Slot& slot : slots_) {
      const Measured& measured = joined_.kernels[slot.kernel];
      if (!measured.any()) continue;
      // A kernel whose name tells nothing counts for less.
      const double own = Told(measured) || slot.several ? 1 : ShareAt(slot.family, measured);
      FoundFamily& found = out_.families[slot.family];
      // A convolution's kernel does no matrix product; the other way round it may.
      const bool other = slot.family == kGemm && measured.main.family == kConvolution;
      found.kernels += other ? 0 : own;
      found.joined += other                         ? 0.2
                      : LacksWindow(slot, measured) ? 0.5
                      : LacksGroups(slot, measured) ? 0.7
                      : Told(measured)              ? 1
                                                    : 0.9 * own;
      // Attention has two products, not any number.
      double products = 0;
      for (const MeasuredPart& part : measured.parts)
        products += IsProduct(part.told.family) ? part.launches : 0;
      if (slot.several && products > slot.most) found.over += products - slot.most;
    }
    for (const Joined::Shared& group : joined_.shared) {
      if (group.beside) continue;
      double launches = 0, kernels = 0;
      for (const MeasuredPart& part : group.measured.parts) {
        if (!part.main) continue;
        kernels += part.launches;
        launches += part.launches * (part.told.family == kUnknown ? 0.9 : 1);
      }
      double most = 0;
      std::map<KernelFamily, double> slots;
      for (const std::size_t k : group.kernels) {
        slots[family[k]] += 1;
        most += std::max(1.0, most_of[k]);
      }
      const auto all = static_cast<double>(group.kernels.size());
      const double share = std::min(1.0, (launches - 0.3 * LackGroups(group)) / all);
      // Where operators have several products, any number up to that.
      const double any = kernels > all && kernels <= most ? 1 : kernels / all;
      for (const auto& [of, count] : slots) {
        out_.families[of].joined += share * count;
        out_.families[of].kernels += any * count;
        if (launches > most) out_.families[of].over += (launches - most) * count / all;
      }
      const bool work = std::any_of(slots.begin(), slots.end(),
                                    [](const auto& entry) { return IsProduct(entry.first); });
      if (work && launches > most) out_.excess += launches - most;
    }
    for (const UnmatchedKernel& kernel : joined_.unmatched) {
      // What ran before the first run may be a run that is not whole.
      out_.families[kernel.family].over +=
          kernel.before ? 0.5 * kernel.launches / static_cast<double>(joined_.runs)
                        : kernel.launches;
    }
    return std::move(out_);
  }

 private:
  static bool Told(const Measured& measured) {
    return measured.by_name || measured.family_told || measured.main.family != kUnknown;
  }

  // Share of the kernels that are joined to products whose names tell what they are.
  double ShareThatTells() const {
    double all = 0, told = 0;
    for (const Slot& slot : slots_) {
      const Measured& measured = joined_.kernels[slot.kernel];
      if (!IsProduct(slot.family) || !measured.any()) continue;
      all += 1;
      told += Told(measured) ? 1 : 0;
    }
    for (const Joined::Shared& group : joined_.shared) {
      for (const MeasuredPart& part : group.measured.parts) {
        if (group.beside || !part.main) continue;
        all += part.launches;
        told += part.told.family != kUnknown ? part.launches : 0;
      }
    }
    return all > 0 ? told / all : 0;
  }

  // A convolution with a window runs as a plain matrix product only behind a transform.
  bool LacksWindow(const Slot& slot, const Measured& measured) const {
    const auto* conv = std::get_if<ConvNest>(&report_.kernels[slot.kernel].nest);
    if (!conv || measured.main.family != kGemm || measured.by_name) return false;
    const bool window = std::any_of(conv->axes.begin(), conv->axes.end(),
                                    [](const ConvAxis& axis) { return axis.kernel > 1; });
    return window &&
           std::none_of(measured.parts.begin(), measured.parts.end(),
                        [](const MeasuredPart& p) { return p.told.family == kTransform; });
  }

  // Libraries have kernels of their own for depthwise convolutions.
  static bool LacksGroups(const Slot& slot, const Measured& measured) {
    const KernelName& main = measured.main;
    return slot.depthwise && IsProduct(main.family) &&
           MethodOf(main.algorithm) == KernelMethod::kImplicitGemm && !measured.by_name;
  }

  // Of a group's launches those that run depthwise convolutions, there being no other operators,
  // with kernels that are not of depthwise convolutions.
  double LackGroups(const Joined::Shared& group) const {
    double launches = 0, whole = 0;
    for (const MeasuredPart& part : group.measured.parts) {
      const bool told = IsProduct(part.told.family);
      if (part.main && told && MethodOf(part.told.algorithm) == KernelMethod::kImplicitGemm)
        launches += part.launches;
    }
    const std::set<std::size_t> members(group.kernels.begin(), group.kernels.end());
    for (const Slot& slot : slots_) {
      whole += members.contains(slot.kernel) && !slot.depthwise ? slot.most : 0;
    }
    return std::max(0.0, launches - whole);
  }

  // Launches of kernels whose names tell nothing, all of them and those at a family's operators.
  void FindUnknown() {
    const auto look = [&](const Measured& measured, std::optional<KernelFamily> family) {
      for (const MeasuredPart& part : measured.parts) {
        if (part.told.family != kUnknown) continue;
        unknown_[part.name] += part.launches;
        if (family && part.main) unknown_at_[{part.name, *family}] += part.launches;
      }
    };
    for (const Slot& slot : slots_) look(joined_.kernels[slot.kernel], slot.family);
    for (const Joined::Shared& group : joined_.shared) look(group.measured, std::nullopt);
    for (const UnmatchedKernel& kernel : joined_.unmatched) {
      if (kernel.family == kUnknown) unknown_[kernel.name] += kernel.launches;
    }
  }

  // A kernel does one thing: of one whose name tells nothing, the share of its launches that a
  // family's operators have.
  double ShareAt(KernelFamily family, const Measured& measured) const {
    double share = 1;
    for (const MeasuredPart& part : measured.parts) {
      const auto at = unknown_at_.find({part.name, family});
      if (part.main && at != unknown_at_.end())
        share = std::min(share, at->second / unknown_.at(part.name));
    }
    return share;
  }

  const Report& report_;
  const Joined& joined_;
  const std::vector<Slot>& slots_;
  std::map<std::string, double> unknown_;  // launches of kernels whose names tell nothing
  std::map<std::pair<std::string, KernelFamily>, double> unknown_at_;  // at operators of a family
  FoundOperators out_;
};

}  // namespace

FoundOperators CountFound(const Report& report, const Joined& joined,
                          const std::vector<Slot>& slots) {
  return FoundCounter(report, joined, slots).Run();
}

}  // namespace dlcost
