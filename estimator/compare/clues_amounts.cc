#include <algorithm>
#include <cmath>
#include <set>

#include "estimator/compare/as_run.h"
#include "estimator/compare/clues.h"
#include "estimator/compare/evidence.h"
#include "estimator/compare/op_family.h"
#include "estimator/core/integer.h"

namespace dlcost {
namespace {

using enum KernelFamily;

constexpr double kNear = 0.12;  // of a binary logarithm: counts of libraries differ by so much

class AmountClues {
 public:
  explicit AmountClues(const ClueSource& source)
      : source_(source),
        report_(source.report),
        joined_(source.joined),
        device_(source.device),
        slots_(source.slots),
        matrix_(MayUseMatrixPipe(source.report, source.device)) {}

  void Run() {
    Flops();
    Excess();
    Streams();
    Times();
  }

 private:
  void Add(double bits, std::string text) const { source_.Add(bits, std::move(text)); }

  // log2 of measured over the closest executed work that the kernel may have; nothing where the
  // counters see no products.
  std::optional<double> Distance(const Slot& slot) const {
    const Measured& m = joined_.kernels[slot.kernel];
    if (!m.any() || m.tensor || !m.vector_flops || !IsProduct(slot.family)) return std::nullopt;
    std::optional<double> distance = FlopDistance(slot, m.vector_flops);
    const double run = AsRun(report_.kernels[slot.kernel], m.main);
    if (!distance || run <= 0) return distance;
    // From transformed operands it takes fewer products than the definition has, certainly.
    if (IsTransformed(m.main.algorithm)) distance = std::log2(*m.vector_flops / run);
    const double filled = run - Padding(report_.kernels[slot.kernel], m.main);
    if (*m.vector_flops<run&& * m.vector_flops> filled) return 0;
    const double bare = filled > 0 ? std::log2(*m.vector_flops / filled) : HUGE_VAL;
    double as_run = std::log2(*m.vector_flops / run);
    if (std::abs(bare) < std::abs(as_run)) as_run = bare;
    return std::abs(as_run) < std::abs(*distance) ? as_run : distance;
  }

  // On the matrix pipe, perhaps, where no counter of FLOPs sees them: its name does not tell.
  bool MayHide(const Measured& measured) const {
    if (!matrix_) return false;
    return std::any_of(measured.parts.begin(), measured.parts.end(), [](const MeasuredPart& part) {
      return part.main && part.told.family == kUnknown;
    });
  }

  // What of it only fills up tiles. Libraries differ in how they tile transforms.
  double Padding(const KernelRow& kernel, const KernelName& name) const {
    const bool tiled = IsTransformed(name.algorithm);
    if (!device_ || !kernel.execution || !tiled) return 0;
    return ExecutionAsRun(kernel, name, *device_)->Of(TermKind::kPadding).flops().AsDouble();
  }

  // What it executes on the vector pipe with the algorithm that the kernel's name tells.
  double AsRun(const KernelRow& kernel, const KernelName& name) const {
    if (!device_ || !kernel.execution || name.family == kUnknown) return kernel.executed.AsDouble();
    return ExecutionAsRun(kernel, name, *device_)->On(Pipe::kVector).flops().AsDouble();
  }

  void Flops() {
    double rows = 0, near = 0, operators = 0;
    const auto judge = [&](double distance, std::size_t of_operators) {
      const double off = std::abs(distance);
      rows += 1;
      operators += static_cast<double>(of_operators);
      near += Along(off, {{kNear, 1}, {0.3, 0}});
    };
    const bool unknown = std::any_of(joined_.unmatched.begin(), joined_.unmatched.end(),
                                     [](const UnmatchedKernel& k) { return k.family == kUnknown; });
    for (const Slot& slot : slots_) {
      const auto distance = Distance(slot);
      if (distance && *distance < -kNear && MayHide(joined_.kernels[slot.kernel])) continue;
      // Some of its products may be among those whose names tell nothing.
      if (distance && slot.several && unknown && *distance < 0) continue;
      if (distance) judge(*distance, 1);
    }
    for (const Joined::Shared& group : joined_.shared) {
      if (group.beside || joined_.runs_by_work || group.measured.tensor) continue;
      double executed = 0, algorithmic = 0;
      for (const std::size_t k : group.kernels) {
        executed += report_.kernels[k].executed.AsDouble();
        algorithmic += 2 * Macs(report_.kernels[k].sums.macs).count().AsDouble();
      }
      if (!group.measured.vector_flops || *group.measured.vector_flops <= 0 || algorithmic <= 0)
        continue;
      const double flops = *group.measured.vector_flops;
      // All of them as any of the kernels would run them; of several algorithms, some by each.
      double least = HUGE_VAL, most = 0;
      for (const MeasuredPart& part : group.measured.parts) {
        if (!part.main) continue;
        double run = 0, padding = 0;
        for (const std::size_t k : group.kernels) {
          run += AsRun(report_.kernels[k], part.told);
          padding += Padding(report_.kernels[k], part.told);
        }
        least = std::min(least, run - padding);
        most = std::max(most, run);
      }
      double off = flops > least && flops < most ? 0 : 64;
      for (const double work : {executed, algorithmic, least, most})
        off = std::min(off, work > 0 ? std::abs(std::log2(flops / work)) : off);
      if (off > kNear && flops < executed && MayHide(group.measured)) continue;
      judge(off, group.kernels.size());
    }
    counted_ = rows > 0;
    if (rows == 0) return;
    // One is weak evidence for, and strong evidence against; a few among many that the counters do
    // not see are weak too.
    const double share = near / rows;
    const double bits = Along(share, {{0, -10}, {0.5, -4}, {0.7, 0}, {0.85, 4}, {1, 8}});
    const double weight =
        bits < 0 ? 0.5 + rows / 6 : std::min(0.1 + rows / 6, 2 * Counted(operators));
    Add(bits * std::min(1.0, weight),
        fmt::format("the counted FLOPs of {:.3g} of {:.0f} products are what the model's execute",
                    near, rows));
  }

  // Share of the products that were found of which FLOPs were counted, those of so many operators.
  double Counted(double operators) const {
    double products = 0;
    for (const Slot& slot : slots_) {
      products += IsProduct(slot.family) && joined_.kernels[slot.kernel].any() ? 1 : 0;
    }
    for (const Joined::Shared& group : joined_.shared) {
      const bool work = std::any_of(group.measured.parts.begin(), group.measured.parts.end(),
                                    [](const MeasuredPart& part) { return part.main; });
      products += !group.beside && work ? static_cast<double>(group.kernels.size()) : 0;
    }
    return operators / std::max(operators, products);
  }

  // Counted FLOPs of products that the model has no work for: those of kernels without an operator,
  // and what an operator of several products was given beyond twice its own.
  void Excess() {
    double all = 0, beyond = 0;
    for (const Slot& slot : slots_) {
      const Measured& m = joined_.kernels[slot.kernel];
      if (!m.any() || !m.vector_flops) continue;
      const KernelRow& kernel = report_.kernels[slot.kernel];
      const double work =
          std::max(kernel.executed.AsDouble(), 2 * Macs(kernel.sums.macs).count().AsDouble());
      if (IsProduct(slot.family) || slot.several) all += *m.vector_flops;
      if (slot.several) beyond += std::max(0.0, *m.vector_flops - 2 * work);
    }
    for (const Joined::Shared& group : joined_.shared)
      all += group.measured.vector_flops.value_or(0);
    for (const UnmatchedKernel& kernel : joined_.unmatched) {
      if (kernel.before || !IsProduct(kernel.family)) continue;
      beyond += kernel.vector_flops.value_or(0);
      all += kernel.vector_flops.value_or(0);
    }
    if (all <= 0 || beyond < 0.05 * all) return;
    const double share = beyond / all;
    Add(Along(share, {{0.05, 0}, {0.2, -5}, {0.5, -12}}),
        fmt::format("{:.0f} % of the counted FLOPs of its products are beyond the model's work",
                    100 * share));
  }

  // What operators move.
  void Streams() {
    double bits = 0, rows = 0, near = 0;
    for (const Slot& slot : slots_) {
      const Measured& m = joined_.kernels[slot.kernel];
      const double predicted = report_.kernels[slot.kernel].sums.bytes().AsDouble();
      if (!m.any() || !m.dram_bytes || predicted <= 0 || *m.dram_bytes <= 0) continue;
      const double distance = std::log2(*m.dram_bytes / predicted);
      const double off = std::abs(distance);
      // Products may read their operands many times, and find some of them in a cache.
      bits += IsProduct(slot.family)
                  ? Along(distance, {{-2, -1}, {-0.6, 0}, {-0.3, 1.5}, {0.3, 1.5}, {0.6, 0}})
                  : Along(off, {{0.3, 1.5}, {0.6, 1}, {1, 0}, {2, -2}});
      rows += 1;
      near += off < 0.6 ? 1 : 0;
    }
    if (rows == 0) return;
    Add(bits / rows * std::min(rows, 3.0),
        fmt::format("{:.0f} of {:.0f} operators move the bytes that the model's move", near, rows));
  }

  void Times() {
    std::vector<std::pair<double, double>> points;  // log2 of expected and measured
    std::vector<std::pair<double, double>> on_tensor;
    std::vector<double> off;  // log2 of measured over expected, of every operator in `points`
    double rows = 0, below = 0;
    double needed = 0, missing = 0;  // seconds of bounds, and those of operators far below theirs
    bool tensor = false;
    for (const Slot& slot : slots_) {
      const Measured& m = joined_.kernels[slot.kernel];
      if (!m.any() || !m.time || !(m.time->value() > 0) || !slot.seconds || *slot.seconds <= 0)
        continue;
      const bool other_work = m.tensor || IsTransformed(m.main.algorithm);
      const double bound = report_.kernels[slot.kernel].sums.bound.value();
      rows += 1;
      // On the matrix pipe it may take a fraction of what is expected on the other.
      const bool unknown = m.main.family == kUnknown;
      tensor |= m.tensor;
      below += !other_work && bound > 2e-6 && m.time->value() < 0.5 * bound;
      needed += bound;
      // Further below than any matrix pipe is faster than the vector pipe beside it.
      if (!other_work && bound > 2e-6 && m.time->value() < 0.1 * bound) missing += bound;
      if (IsProduct(slot.family) && !unknown && !slot.several && (m.tensor || !other_work))
        (m.tensor ? on_tensor : points)
            .emplace_back(std::log2(*slot.seconds), std::log2(m.time->value()));
    }
    for (const Joined::Shared& group : joined_.shared) {
      if (group.beside || joined_.runs_by_work || !group.measured.time) continue;
      tensor |= group.measured.tensor;
      double expected = 0;
      for (const std::size_t k : group.kernels) {
        const KernelRow& kernel = report_.kernels[k];
        expected += kernel.on_device.value_or(kernel.sums.bound).value();
      }
      if (expected <= 0 || !(group.measured.time->value() > 0)) continue;
      points.emplace_back(std::log2(expected), std::log2(group.measured.time->value()));
      off.resize(off.size() + group.kernels.size() - 1, points.back().second - points.back().first);
    }
    if (rows > 0 && below / rows > 0.3) {
      Add(-12 * below / rows, fmt::format("{:.0f} of {:.0f} operators take less than half of what "
                                          "the device needs for them at least",
                                          below, rows));
    } else if (needed > 0 && missing / needed > 0.2) {
      Add(std::max(-12.0, -40 * missing / needed),
          fmt::format("operators with {:.0f} % of what the device needs at least take less than a "
                      "tenth of that",
                      100 * missing / needed));
    }
    Pattern(points, on_tensor);
    for (const auto& [expected, seconds] : points) off.push_back(seconds - expected);
    if (off.empty()) return;
    std::sort(off.begin(), off.end());
    const double pace = off[off.size() / 2];
    // Nothing is much faster than a good kernel, but on another unit.
    const double bits =
        pace < 0 && tensor ? 0
        : pace < 0         ? Along(pace, {{-2, -6}, {-1.2, -3}, {-0.7, 0}, {0, 1}})
                   : Along(pace, {{1.3, 1}, {2.3, 0}, {4, -1.2}, {5.3, -1.4}, {6, -3}, {10, -8}});
    Add(bits, fmt::format("its products take {:.3g} times what is expected of the model's",
                          std::exp2(pace)));
    if (!counted_) source_.belief.only_by_time = std::exp2(pace);
  }

  // Whether long operators take long, on either pipe: what is left of the spread of times when the
  // expected ones are taken out of them. It is the odds of these times by what is expected against
  // the same times in any order. Equal shapes tell the same.
  void Pattern(const std::vector<std::pair<double, double>>& vector,
               const std::vector<std::pair<double, double>>& tensor) {
    constexpr double kNoise = 0.3;  // of a binary logarithm: less spread than that tells nothing
    double measured = 0, left = 0;
    std::set<std::int64_t> shapes;
    for (const auto* points : {&vector, &tensor}) {
      const auto size = static_cast<double>(points->size());
      double mean_x = 0, mean_y = 0;
      for (const auto& [x, y] : *points) mean_x += x / size, mean_y += y / size;
      for (const auto& [x, y] : *points) {
        measured += std::pow(y - mean_y, 2);
        left += std::pow((y - mean_y) - (x - mean_x), 2);
        shapes.insert(RoundToInteger(32 * x));
      }
    }
    const auto n = static_cast<double>(vector.size() + tensor.size());
    if (shapes.size() < 2) return;
    measured = std::sqrt(measured / n);
    left = std::sqrt(left / n);
    // An order that was sought among many follows a little by itself.
    const auto free = static_cast<double>(std::min<std::size_t>(shapes.size(), 7) - 1);
    const double bits = std::log2(std::max(measured, kNoise) / std::max(left, kNoise)) * free;
    // Expected times are those of the pipe that is expected: less is known of the other.
    const double least = vector.size() < tensor.size() || n < 10 ? -2 : -6;
    Add(std::clamp(bits, least, 1.5),
        fmt::format("times of its products vary by a factor of {:.2f}, and over those expected by "
                    "one of {:.2f}",
                    std::exp2(measured), std::exp2(left)));
  }

  const ClueSource& source_;
  const Report& report_;
  const Joined& joined_;
  const std::optional<Device>& device_;
  const std::vector<Slot>& slots_;
  const bool matrix_;
  bool counted_ = false;  // FLOPs of its products
};

}  // namespace

void AddAmountClues(const ClueSource& source) { AmountClues(source).Run(); }

}  // namespace dlcost
