#include "estimator/sweep/region_ends.h"

#include <fmt/format.h>

#include <algorithm>
#include <bitset>

#include "estimator/core/count.h"

namespace dlcost {
namespace {

using Families = std::bitset<kCountFamilies>;

class EndFinder {
 public:
  EndFinder(Sampler& sampler, const std::vector<CountFamily>& families, std::int64_t limit,
            CountRegion& region)
      : sampler_(sampler), families_(families), limit_(limit), region_(region) {}

  void Run() {
    for (auto& of_family : region_.ranges) of_family.assign(region_.axes.size(), {});
    for (std::size_t v = 0; v < region_.axes.size(); ++v) {
      const RegionAxis& axis = region_.axes[v];
      const std::int64_t lowest =
          axis.base % axis.period == 0 ? axis.period : axis.base % axis.period;
      const std::int64_t highest =
          axis.base + std::max<std::int64_t>(limit_ - axis.base, 0) / axis.period * axis.period;
      known_.clear();
      for (int f = 0; f < kCountFamilies; ++f) {
        RegionRange& range = region_.ranges[static_cast<std::size_t>(f)][v];
        range.from = End(v, f, -1, (axis.base - lowest) / axis.period, range.why_from);
        range.to = End(v, f, 1, (highest - axis.base) / axis.period, range.why_to);
      }
    }
  }

 private:
  std::int64_t SizeAt(std::size_t v, int direction, std::int64_t steps) const {
    return region_.axes[v].base + direction * steps * region_.axes[v].period;
  }

  // The last size that fits, going at most `most` steps away.
  std::int64_t End(std::size_t v, int family, int direction, std::int64_t most, std::string& why) {
    std::int64_t good = 0, bad = most + 1;
    const auto fits = [&](std::int64_t steps) {
      return At(v, SizeAt(v, direction, steps)).test(static_cast<std::size_t>(family));
    };
    for (std::int64_t step = 1; good < most; step *= 2) {
      const std::int64_t next = std::min(good + step, most);
      if (!fits(next)) {
        bad = next;
        break;
      }
      good = next;
    }
    while (bad - good > 1) {
      const std::int64_t middle = good + (bad - good) / 2;
      (fits(middle) ? good : bad) = middle;
    }
    if (bad <= most) why = Why(v, SizeAt(v, direction, bad), family);
    return SizeAt(v, direction, good);
  }

  Point Moved(std::size_t v, std::int64_t to) const {
    Point point;
    for (const RegionAxis& axis : region_.axes) point.push_back(axis.base);
    point[v] = to;
    return point;
  }

  // The families that follow their polynomials at a size.
  Families At(std::size_t v, std::int64_t size) {
    const auto [at, fresh] = known_.try_emplace(size);
    if (!fresh) return at->second;
    const Point point = Moved(v, size);
    const CountTally* tally = sampler_.Like(point, region_.structure);
    if (tally == nullptr) return at->second;
    Families& fit = at->second.set();
    for (std::size_t slot = 0; slot < families_.size(); ++slot) {
      const auto family = static_cast<std::size_t>(families_[slot]);
      const std::uint32_t p = region_.polynomial_of[slot];
      if (!fit.test(family)) continue;
      try {
        if (region_.ValueAt(p, point) != tally->values[slot]) fit.reset(family);
      } catch (const OverflowError&) {
        fit.reset(family);
      }
    }
    return fit;
  }

  std::string Why(std::size_t v, std::int64_t size, int family) {
    const Point point = Moved(v, size);
    if (std::string why = sampler_.WhyNot(point); !why.empty()) return why;
    if (sampler_.Like(point, region_.structure) == nullptr) return std::string(kOtherStructure);
    return fmt::format("{} of {}", kBends, Name(static_cast<CountFamily>(family)));
  }

  Sampler& sampler_;
  const std::vector<CountFamily>& families_;
  const std::int64_t limit_;
  CountRegion& region_;
  std::map<std::int64_t, Families> known_;  // along the variable that is looked at
};

}  // namespace

void FindEnds(Sampler& sampler, const std::vector<CountFamily>& families, std::int64_t limit,
              CountRegion& region) {
  EndFinder(sampler, families, limit, region).Run();
}

}  // namespace dlcost
