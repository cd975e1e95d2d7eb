#include "estimator/sweep/axis_search.h"

#include <gmpxx.h>

#include <algorithm>
#include <optional>
#include <random>
#include <set>

#include "estimator/core/count.h"

namespace dlcost {
namespace {

constexpr int kConfirmations = 2;  // differences that must vanish before a degree is believed
constexpr std::uint64_t kAxisSeed =
    20240601;  // of the points that are checked: the same every time

// Products of small primes up to `limit`: what strides and windows make.
std::vector<std::int64_t> Periods(std::int64_t limit) {
  std::set<std::int64_t> found = {1};
  for (const std::int64_t prime : {2, 3, 5, 7}) {
    const std::set<std::int64_t> known = found;
    for (std::int64_t period : known) {
      while ((period *= prime) <= limit) found.insert(period);
    }
  }
  return {found.begin(), found.end()};
}

// Degree of values at equal distances, -1 where they are too few to tell.
int DegreeOf(std::vector<Count> values) {
  for (int degree = 0; static_cast<int>(values.size()) >= kConfirmations; ++degree) {
    if (std::all_of(values.begin(), values.end(), [&](Count v) { return v == values.front(); })) {
      return static_cast<int>(values.size()) > kConfirmations ? degree : -1;
    }
    for (std::size_t i = 0; i + 1 < values.size(); ++i) values[i] = values[i + 1] - values[i];
    values.pop_back();
  }
  return -1;
}

class AxisSearch {
 public:
  AxisSearch(Sampler& sampler, const std::vector<RegionAxis>& axes, std::size_t structure,
             std::size_t numbers, const Point& base, const RegionOptions& options)
      : sampler_(sampler),
        axes_(axes),
        structure_(structure),
        numbers_(numbers),
        but_(base),
        options_(options) {}

  RegionAxis Find(std::size_t v) {
    std::optional<Trial> best;
    std::int64_t best_period = 1;
    for (const std::int64_t period : Periods(options_.max_period)) {
      const Trial trial = Try(v, period, best ? best->bad : numbers_ + 1);
      if (!best || trial.bad < best->bad) {
        best = trial;
        best_period = period;
      }
      if (best->bad == 0) break;
      const Count numbers = Count(sampler_.counted()) * static_cast<std::int64_t>(numbers_);
      if (numbers > Count(options_.max_counted)) break;
      sampler_.Trim(but_);
    }
    // Not even neighbours have the structure of the base: this size alone.
    if (best->degree < 0) return {.base = axes_[v].base, .period = 1, .degree = 0};
    return {.base = best->first, .period = best_period, .degree = best->degree};
  }

 private:
  // The tally at a point of the same structure, null elsewhere.
  const CountTally* At(const Point& point) { return sampler_.Like(point, structure_); }

  Point Moved(std::size_t v, std::int64_t to) const {
    Point point;
    for (const RegionAxis& axis : axes_) point.push_back(axis.base);
    point[v] = to;
    return point;
  }

  // `n` neighbours at distance `period`, upwards or, where the model ends, downwards.
  std::vector<const CountTally*> Line(std::size_t v, std::int64_t period, int n,
                                      std::int64_t& first) {
    for (int below = 0; below < n; ++below) {
      first = axes_[v].base - period * below;
      if (first < 1) break;
      std::vector<const CountTally*> line;
      while (static_cast<int>(line.size()) < n) {
        const auto i = static_cast<std::int64_t>(line.size());
        const CountTally* tally = At(Moved(v, first + period * i));
        if (tally == nullptr) break;
        line.push_back(tally);
      }
      if (static_cast<int>(line.size()) == n) return line;
      if (line.empty()) break;
    }
    return {};
  }

  struct Trial {
    int degree = -1;
    std::int64_t first = 1;
    std::size_t bad = 0;  // numbers that follow no polynomial
  };

  // How well polynomials fit along one variable at steps of `period`.
  Trial Try(std::size_t v, std::int64_t period, std::size_t give_up) {
    Trial trial;
    std::vector<const CountTally*> line;
    for (int n = 4; n <= options_.max_degree + kConfirmations + 1; ++n) {
      std::int64_t first = 1;
      std::vector<const CountTally*> longer = Line(v, period, n, first);
      if (longer.empty()) break;
      line = std::move(longer);
      trial.first = first;
      CountBad(line, trial);
      if (trial.bad == 0) break;
    }
    if (trial.degree < 0) trial.bad = numbers_ + 1;
    if (trial.bad < give_up) CheckAround(v, period, line, trial);
    return trial;
  }

  void CountBad(const std::vector<const CountTally*>& line, Trial& trial) const {
    trial.bad = 0;
    std::set<std::vector<std::int64_t>> seen;
    std::vector<std::int64_t> values(line.size());
    for (std::size_t slot = 0; slot < numbers_; ++slot) {
      for (std::size_t i = 0; i < line.size(); ++i) values[i] = line[i]->values[slot];
      if (!seen.insert(values).second) continue;
      const int degree = DegreeOf({values.begin(), values.end()});
      trial.bad += degree < 0;
      trial.degree = std::max(trial.degree, degree);
    }
  }

  // Points farther away, up to twice the base: a plateau between two strides is no polynomial.
  void CheckAround(std::size_t v, std::int64_t period, const std::vector<const CountTally*>& line,
                   Trial& trial) {
    const std::int64_t base = axes_[v].base;
    const std::int64_t reach = std::max<std::int64_t>(base / period, 8);
    std::mt19937_64 random(kAxisSeed);
    std::set<std::size_t> bad;
    for (int i = 0; i < 5; ++i) {
      const auto t = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(reach)) + 5;
      const std::int64_t up = base + period * t, down = base - period * (t / 2);
      for (const std::int64_t x : {up, down}) {
        const CountTally* tally = x < 1 ? nullptr : At(Moved(v, x));
        if (tally == nullptr) continue;
        const Count at = (Count(x) - trial.first) / Count(period);
        for (std::size_t slot = 0; slot < numbers_; ++slot) {
          if (Extrapolate(line, slot, at) != tally->values[slot]) bad.insert(slot);
        }
        if (!bad.empty()) break;
      }
    }
    trial.bad = std::max(trial.bad, bad.size());
  }

  // Newton's forward differences along the line, at its position `t`.
  static mpz_class Extrapolate(const std::vector<const CountTally*>& line, std::size_t slot,
                               Count t) {
    std::vector<mpz_class> values;
    for (const CountTally* tally : line)
      values.emplace_back(static_cast<signed long>(tally->values[slot]));
    mpz_class sum = 0, binomial = 1;
    for (int k = 0; !values.empty(); ++k) {
      sum += values.front() * binomial;
      binomial *= mpz_class(static_cast<signed long>(t.value())) - k;
      binomial /= k + 1;
      for (std::size_t i = 0; i + 1 < values.size(); ++i) values[i] = values[i + 1] - values[i];
      values.pop_back();
    }
    return sum;
  }

  Sampler& sampler_;
  const std::vector<RegionAxis>& axes_;
  const std::size_t structure_, numbers_;
  const Point& but_;
  const RegionOptions& options_;
};

}  // namespace

RegionAxis FindAxis(Sampler& sampler, const std::vector<RegionAxis>& axes, std::size_t variable,
                    std::size_t structure, std::size_t numbers, const Point& base,
                    const RegionOptions& options) {
  return AxisSearch(sampler, axes, structure, numbers, base, options).Find(variable);
}

}  // namespace dlcost
