#include "estimator/compare/belief.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "estimator/compare/as_run.h"
#include "estimator/compare/op_family.h"
#include "estimator/compare/shape_text.h"
#include "estimator/profiles/text.h"

namespace dlcost {
namespace {

using enum KernelFamily;

// Nine files of ten that people try are of other programs than the model at hand.
constexpr double kPrior = -2;

// A line through points (x, y), constant beyond the first and the last.
double Along(double x, std::initializer_list<std::pair<double, double>> points) {
  const std::pair<double, double>* last = points.begin();
  for (const auto& point : points) {
    if (x <= point.first) {
      if (point.first <= last->first) return point.second;
      const double share = (x - last->first) / (point.first - last->first);
      return last->second + share * (point.second - last->second);
    }
    last = &point;
  }
  return last->second;
}

// Kernels around a model's own that any program may launch.
bool MayBeForeign(KernelFamily family) {
  return family == kCommunication || family == kFill || family == kRandom || family == kDropout ||
         family == kLayout;
}

class Believer {
 public:
  Believer(const Report& report, const Joined& joined, const std::optional<Device>& device)
      : report_(report), joined_(joined), device_(device), slots_(SlotsOf(report)) {}

  Belief Run() {
    Add(kPrior, "files of other programs are common");
    Count();
    Names();
    Products();
    Cells();
    Markers();
    Shapes();
    Flops();
    Streams();
    Times();
    Rest();
    return std::move(belief_);
  }

 private:
  void Add(double bits, std::string text) { belief_.clues.push_back({bits, std::move(text)}); }

  struct Found {
    double model = 0;   // operators
    double joined = 0;  // of these
    double over = 0;    // launches per run that no operator wants
  };

  void Count() {
    std::map<std::size_t, KernelFamily> family;
    std::map<std::size_t, double> most_of;
    for (const Slot& slot : slots_) {
      most_of[slot.kernel] = slot.most;
      family[slot.kernel] = slot.family;
      found_[slot.family].model += 1;
    }
    for (const Slot& slot : slots_) {
      const Measured& measured = joined_.kernels[slot.kernel];
      if (!measured.any()) continue;
      // A kernel whose name tells nothing counts for less.
      const bool named_node = measured.joined_by.starts_with("name");
      const bool told = named_node || measured.main.family != kUnknown;
      // A convolution's kernel does no matrix product; the other way round it may.
      const bool other = slot.family == kGemm && measured.main.family == kConvolution;
      found_[slot.family].joined += other ? 0.2 : told ? 1 : 0.9;
      cells_ |= std::any_of(measured.parts.begin(), measured.parts.end(), IsCell);
      // Attention has two products, not any number.
      double products = 0;
      for (const MeasuredPart& part : measured.parts)
        products += IsProduct(part.told.family) ? part.launches : 0;
      if (slot.several && products > slot.most) found_[slot.family].over += products - slot.most;
    }
    for (const Joined::Shared& group : joined_.shared) {
      cells_ |= std::any_of(group.measured.parts.begin(), group.measured.parts.end(), IsCell);
      if (group.beside) continue;
      double launches = 0;
      for (const MeasuredPart& part : group.measured.parts)
        launches += part.main ? part.launches : 0;
      double most = 0;
      std::map<KernelFamily, double> slots;
      for (const std::size_t k : group.kernels) {
        slots[family[k]] += 1;
        most += std::max(1.0, most_of[k]);
      }
      const auto all = static_cast<double>(group.kernels.size());
      const double share = std::min(1.0, launches / all);
      for (const auto& [of, count] : slots) {
        found_[of].joined += share * count;
        if (launches > most) found_[of].over += (launches - most) * count / all;
      }
    }
    for (const UnmatchedKernel& kernel : joined_.unmatched) {
      // What ran before the first run may be a run that is not whole.
      found_[kernel.family].over += kernel.before
                                        ? 0.5 * kernel.launches / static_cast<double>(joined_.runs)
                                        : kernel.launches;
    }
  }

  static bool IsCell(const MeasuredPart& part) { return part.told.family == kRecurrent; }

  // Recurrent cells leave a trace beside their products.
  void Cells() {
    const bool unknown = std::any_of(joined_.unmatched.begin(), joined_.unmatched.end(),
                                     [](const UnmatchedKernel& k) { return k.family == kUnknown; });
    if (found_[kRecurrent].model == 0 || (!cells_ && unknown)) return;
    Add(cells_ ? 1.5 : -1.5,
        fmt::format("kernels of recurrent cells were {}", cells_ ? "found" : "not found"));
  }

  void Names() {
    const auto found = static_cast<double>(joined_.names.found);
    const auto missing = static_cast<double>(joined_.names.missing);
    if (found == 0) return;
    const double share = found / (found + missing);
    Add(Along(share, {{0, -16}, {0.5, -12}, {0.8, 0}, {1, 12}}) *
            std::min(1.0, (found + missing) / 4),
        fmt::format("{} of {} names in it are nodes of the model", joined_.names.found,
                    joined_.names.found + joined_.names.missing));
    if (joined_.names.other_type > 0) {
      Add(-std::min(12.0, 3.0 * static_cast<double>(joined_.names.other_type)),
          fmt::format("{} nodes have another operator type there", joined_.names.other_type));
    }
  }

  void Products() {
    Found sum;
    double certain = 0;  // not counting operators to which any number of products goes
    for (const auto& [family, found] : found_) {
      if (!IsProduct(family)) continue;
      if (family != kRecurrent) certain += found.model;
      sum.model += found.model;
      sum.joined += found.joined;
      sum.over += found.over;
    }
    if (sum.model + sum.over == 0) return;
    const double share = sum.joined / (sum.model + sum.over);
    double bits = Along(share, {{0, -10},
                                {0.5, -8},
                                {0.8, -5},
                                {0.9, -1},
                                {0.95, 0.5},
                                {0.98, 1.5},
                                {1, 1 + 0.7 * std::log2(1 + certain)}});
    // A part of a run: all of it is in the model, without holes, but not all of the model in it.
    const double holes = Holes();
    const bool part =
        !joined_.folded && sum.joined > 0 && sum.over < 0.05 * sum.joined && holes < 0.1;
    if (part) bits = std::max(bits, -3.0);
    Add(bits,
        fmt::format("{:.4g} of the model's {:.4g} convolutions and products were found, {:.4g} "
                    "launches of others were not",
                    sum.joined, sum.model, sum.over));
    if (joined_.uneven > 0.02) {
      Add(-8 * joined_.uneven,
          fmt::format("{:.0f} % of the launches of its products are no multiple of {} runs",
                      100 * joined_.uneven, joined_.runs));
    }
    if (holes > 0.2) {
      Add(-(joined_.names.found > 0 ? 60 : 30) * (holes - 0.2),
          fmt::format("{:.0f} % of the model's products between those that were found are missing",
                      100 * holes));
    }
  }

  // Share of the products between the first and the last that was found that were not. Zero where
  // the file does not tell operators apart.
  double Holes() const {
    if (joined_.folded) return 0;
    std::vector<bool> found;
    for (const Slot& slot : slots_) {
      if (IsProduct(slot.family)) found.push_back(joined_.kernels[slot.kernel].any());
    }
    const auto first = std::find(found.begin(), found.end(), true);
    const auto last = std::find(found.rbegin(), found.rend(), true).base();
    if (first >= last) return 0;
    return static_cast<double>(std::count(first, last, false)) / static_cast<double>(last - first);
  }

  // Operators that networks differ in.
  void Markers() {
    Found sum;
    for (const auto& [family, found] : found_) {
      if (!IsMarker(family)) continue;
      sum.model += found.model;
      sum.joined += found.joined;
      sum.over += found.over;
    }
    if (sum.model + sum.over < 2) return;
    const double share = sum.joined / (sum.model + sum.over);
    if (sum.joined + sum.over == 0) return;  // their names may tell nothing
    Add(3 * (share - 0.5),
        fmt::format("{:.4g} of the model's {:.4g} poolings, normalizations, softmaxes and gathers "
                    "were found, {:.4g} others were not",
                    sum.joined, sum.model, sum.over));
  }

  void Shapes() {
    int fits = 0, others = 0;
    for (const Slot& slot : slots_) {
      for (const std::string& name : joined_.kernels[slot.kernel].names) {
        const auto shape = SpellsShapeOf(name, report_.kernels[slot.kernel].nest);
        if (!shape) continue;
        (*shape ? fits : others) += 1;
      }
    }
    if (fits + others == 0) return;
    const double bits = 6.0 * fits - 6.0 * others;
    Add(std::clamp(bits, -12.0, 12.0),
        fmt::format("{} of {} shapes in its names are the model's", fits, fits + others));
  }

  // log2 of measured over the closest executed work that the kernel may have; nothing where the
  // counters see no products.
  std::optional<double> Distance(const Slot& slot) const {
    const Measured& m = joined_.kernels[slot.kernel];
    if (!m.any() || m.tensor || !m.vector_flops || !IsProduct(slot.family)) return std::nullopt;
    std::optional<double> distance = FlopDistance(slot, m.vector_flops);
    // On the matrix pipe, perhaps: its name does not tell.
    if (distance && m.main.family == kUnknown && *distance < -3) return std::nullopt;
    const double run = AsRun(report_.kernels[slot.kernel], m.main);
    if (!distance || run <= 0) return distance;
    const double filled = run - Padding(report_.kernels[slot.kernel], m.main);
    if (*m.vector_flops<run&& * m.vector_flops> filled) return 0;
    const double bare = filled > 0 ? std::log2(*m.vector_flops / filled) : HUGE_VAL;
    double as_run = std::log2(*m.vector_flops / run);
    if (std::abs(bare) < std::abs(as_run)) as_run = bare;
    return std::abs(as_run) < std::abs(*distance) ? as_run : distance;
  }

  // What of it only fills up tiles. Libraries differ in how they tile transforms.
  double Padding(const KernelRow& kernel, const KernelName& name) const {
    const bool tiled = Contains(name.algorithm, "Winograd") || Contains(name.algorithm, "FFT");
    if (!device_ || !kernel.execution || !tiled) return 0;
    return ExecutionAsRun(kernel, name, *device_)->Of(TermKind::kPadding).flops().AsDouble();
  }

  // What it executes on the vector pipe with the algorithm that the kernel's name tells.
  double AsRun(const KernelRow& kernel, const KernelName& name) const {
    if (!device_ || !kernel.execution || name.family == kUnknown) return kernel.executed.AsDouble();
    return ExecutionAsRun(kernel, name, *device_)->On(Pipe::kVector).flops().AsDouble();
  }

  void Flops() {
    double rows = 0, near = 0;
    const auto judge = [&](double distance) {
      const double off = std::abs(distance);
      rows += 1;
      near += Along(off, {{0.12, 1}, {0.3, 0}});
    };
    for (const Slot& slot : slots_) {
      if (const auto distance = Distance(slot)) judge(*distance);
    }
    for (const Joined::Shared& group : joined_.shared) {
      if (group.beside || joined_.runs_by_work || group.measured.tensor) continue;
      double executed = 0, algorithmic = 0, as_run = 0, padding = 0;
      for (const std::size_t k : group.kernels) {
        executed += report_.kernels[k].executed.AsDouble();
        as_run += AsRun(report_.kernels[k], group.measured.main);
        padding += Padding(report_.kernels[k], group.measured.main);
        algorithmic += 2 * Macs(report_.kernels[k].sums.macs).count().AsDouble();
      }
      if (!group.measured.vector_flops || *group.measured.vector_flops <= 0 || algorithmic <= 0)
        continue;
      double off = 64;
      const double flops = *group.measured.vector_flops;
      if (flops < as_run && flops > as_run - padding) off = 0;
      for (const double work : {executed, algorithmic, as_run, as_run - padding})
        off = std::min(off, work > 0 ? std::abs(std::log2(flops / work)) : off);
      judge(off);
    }
    if (rows == 0) return;
    // One is weak evidence for, and strong evidence against.
    const double share = near / rows;
    const double bits = Along(share, {{0, -10}, {0.5, -4}, {0.7, 0}, {0.85, 4}, {1, 8}});
    Add(bits * std::min(1.0, (bits < 0 ? 0.5 : 0.1) + rows / 6),
        fmt::format("the counted FLOPs of {:.3g} of {:.0f} products are what the model's execute",
                    near, rows));
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
    double rows = 0, below = 0;
    bool tensor = false;
    for (const Slot& slot : slots_) {
      const Measured& m = joined_.kernels[slot.kernel];
      if (!m.any() || !m.time || !(m.time->value() > 0) || !slot.seconds || *slot.seconds <= 0)
        continue;
      const bool other_work =
          m.tensor || Contains(m.main.algorithm, "Winograd") || Contains(m.main.algorithm, "FFT");
      const double bound = report_.kernels[slot.kernel].sums.bound.value();
      rows += 1;
      // On the matrix pipe it may take a fraction of what is expected on the other.
      const bool unknown = m.main.family == kUnknown;
      tensor |= m.tensor;
      below += !other_work && bound > 2e-6 && m.time->value() < 0.5 * bound;
      if (IsProduct(slot.family) && !unknown && !slot.several && (m.tensor || !other_work))
        (m.tensor ? on_tensor : points)
            .emplace_back(std::log2(*slot.seconds), std::log2(m.time->value()));
    }
    for (const Joined::Shared& group : joined_.shared) {
      if (group.beside || joined_.runs_by_work || !group.measured.time) continue;
      tensor |= group.measured.tensor;
      double expected = 0;
      for (const std::size_t k : group.kernels) {
        const Sums& sums = report_.kernels[k].sums;
        expected += (sums.expected ? *sums.expected : sums.bound).value();
      }
      if (expected > 0 && group.measured.time->value() > 0)
        points.emplace_back(std::log2(expected), std::log2(group.measured.time->value()));
    }
    if (rows > 0 && below / rows > 0.3) {
      Add(-12 * below / rows, fmt::format("{:.0f} of {:.0f} operators take less than half of what "
                                          "the device needs for them at least",
                                          below, rows));
    }
    Pattern(points, on_tensor);
    if (points.empty()) return;
    std::vector<double> off;
    for (const auto& [expected, measured] : points) off.push_back(measured - expected);
    std::sort(off.begin(), off.end());
    const double pace = off[off.size() / 2];
    // Nothing is much faster than a good kernel, but on another unit.
    const double bits = pace < 0 && tensor ? 0
                        : pace < 0         ? Along(pace, {{-2, -6}, {-1.2, -3}, {-0.7, 0}, {0, 1}})
                                   : Along(pace, {{1.3, 1}, {2.3, 0}, {5, -1}, {6, -3}, {10, -8}});
    Add(bits, fmt::format("its products take {:.3g} times what is expected of the model's",
                          std::exp2(pace)));
  }

  // Whether long operators take long, on either pipe.
  void Pattern(const std::vector<std::pair<double, double>>& vector,
               const std::vector<std::pair<double, double>>& tensor) {
    double xx = 0, yy = 0, xy = 0;
    const auto n = static_cast<double>(vector.size() + tensor.size());
    if (n < 5) return;
    for (const auto* points : {&vector, &tensor}) {
      double mean_x = 0, mean_y = 0;
      const auto size = static_cast<double>(points->size());
      for (const auto& [x, y] : *points) mean_x += x / size, mean_y += y / size;
      for (const auto& [x, y] : *points) {
        xx += (x - mean_x) * (x - mean_x);
        yy += (y - mean_y) * (y - mean_y);
        xy += (x - mean_x) * (y - mean_y);
      }
    }
    if (std::sqrt(xx / n) < 0.3 || yy <= 0) return;  // all alike: nothing to see
    const double correlation = xy / std::sqrt(xx * yy);
    // Expected times are those of the pipe that is expected: less is known of the other.
    const double least = vector.size() < tensor.size() || n < 10 ? -2 : -6;
    Add(std::max(least, Along(correlation, {{0.1, -6}, {0.4, -3}, {0.6, -1}, {0.8, 1}, {0.95, 2}})),
        fmt::format("times of its products follow those expected with a correlation of {:.2f}",
                    correlation));
  }

  // What the model has no place for.
  void Rest() {
    struct Amount {
      double time = 0, flops = 0, launches = 0;
    };
    Amount in, out;
    const auto add = [](Amount& to, double weight, double launches, const auto& time,
                        const auto& flops) {
      to.launches += weight * launches;
      to.time += weight * (time ? time->value() : 0);
      to.flops += weight * flops.value_or(0);
    };
    for (const Measured& m : joined_.kernels) add(in, 1, m.launches, m.time, m.vector_flops);
    for (const Joined::Shared& group : joined_.shared)
      add(in, 1, group.measured.launches, group.measured.time, group.measured.vector_flops);
    for (const UnmatchedKernel& kernel : joined_.unmatched) {
      if (kernel.before || MayBeForeign(kernel.family)) continue;
      // One whose name tells nothing may well be the model's.
      const double weight = kernel.family == kUnknown ? 0.5 : 1;
      add(out, weight, kernel.launches, kernel.time, kernel.vector_flops);
    }
    const char* what = in.time + out.time > 0     ? "time"
                       : in.flops + out.flops > 0 ? "counted FLOPs"
                                                  : "launches";
    const double whole = in.time + out.time > 0     ? in.time + out.time
                         : in.flops + out.flops > 0 ? in.flops + out.flops
                                                    : in.launches + out.launches;
    const double rest = in.time + out.time > 0     ? out.time
                        : in.flops + out.flops > 0 ? out.flops
                                                   : out.launches;
    if (whole <= 0 || in.launches <= 0) {
      Add(-20, "nothing in it belongs to the model");
      return;
    }
    const double share = rest / whole;
    Add(Along(share, {{0.1, 1}, {0.2, 0}, {0.5, -3}, {1, -8}}),
        fmt::format("{:.0f} % of its {} belongs to no operator of the model", 100 * share, what));
  }

  const Report& report_;
  const Joined& joined_;
  const std::optional<Device>& device_;
  const std::vector<Slot> slots_;
  std::map<KernelFamily, Found> found_;
  bool cells_ = false;
  Belief belief_;
};

}  // namespace

double Belief::bits() const {
  double sum = 0;
  for (const Clue& clue : clues) sum += clue.bits;
  return sum;
}

std::vector<std::string> Belief::Against() const {
  std::vector<Clue> sorted = clues;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Clue& a, const Clue& b) { return a.bits < b.bits; });
  std::vector<std::string> texts;
  for (const Clue& clue : sorted) {
    if (clue.bits < 0 && texts.size() < 3 && clue.text != clues.front().text)
      texts.push_back(clue.text);
  }
  return texts;
}

Belief Believe(const Report& report, const Joined& joined, const std::optional<Device>& device) {
  return Believer(report, joined, device).Run();
}

}  // namespace dlcost
