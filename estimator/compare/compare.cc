#include "estimator/compare/compare.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "estimator/compare/compare_rows.h"
#include "estimator/compare/compare_totals.h"
#include "estimator/compare/merge_measured.h"
#include "estimator/compare/node_names.h"
#include "estimator/compare/tally.h"
#include "estimator/core/error.h"
#include "estimator/infer/open_dims.h"
#include "estimator/profile_report/device_name.h"
#include "estimator/profiles/nest.h"
#include "estimator/report/runtime_text.h"

namespace dlcost {
namespace {

class Comparer {
 public:
  Comparer(const Report& report, const std::optional<Device>& device, const CompareOptions& options)
      : report_(report), device_(device), options_(options), names_(report) {
    out_.model = report.model.path;
    out_.runtime = report.options.runtime;
    out_.runtime_text = RuntimeText(report.options);
    if (report.device) {
      out_.device = report.device->name;
      for (const auto& roof : report.device->roofs) out_.roofs.push_back(roof.name);
    }
    measured_.resize(report.kernels.size());
    time_level_.resize(report.kernels.size(), TraceLevel::kKernel);
  }

  Comparison Run(std::vector<Measurement> measurements, std::vector<Measurement> times) {
    for (Measurement& measurement : times) files_.push_back({std::move(measurement), true});
    for (Measurement& measurement : measurements) files_.push_back({std::move(measurement), false});
    NestFiles();
    for (const File& file : files_) AddFile(file.measurement);
    MergeFiles();
    AddRows();
    AddUnmatched();
    AddTotals(report_, out_);
    out_.analyses = AnalysesOf(out_.rows);
    out_.levels = MergeLevels(levels_);
    out_.run = RunOf(levels_);
    AddThroughput();
    out_.merges = report_.merges;
    return std::move(out_);
  }

 private:
  struct File {
    Measurement measurement;
    bool times = false;  // its times count before those of others
  };

  // Kernels of one file in the operators of another, traced in the same run.
  void NestFiles() {
    for (File& inner : files_) {
      if (inner.measurement.level() <= TraceLevel::kLayer) continue;
      for (const File& outer : files_) {
        if (outer.measurement.level() >= inner.measurement.level()) continue;
        const NestedRows nested = NestRows(inner.measurement, outer.measurement);
        if (nested.rows == 0) continue;
        out_.notes.push_back(fmt::format("{}: {} of {} kernels were launched by operators of {}",
                                         inner.measurement.path, nested.rows, nested.of,
                                         outer.measurement.path));
      }
    }
  }

  void AddFile(const Measurement& measurement) {
    out_.files.push_back(fmt::format("{} ({})", measurement.path, measurement.format));
    if (measurement.level() == TraceLevel::kModel) {
      joined_.emplace_back();
      joined_.back().runs = std::max<std::int64_t>(1, measurement.runs);
    } else {
      joined_.push_back(Join(report_, measurement, device_, options_.runs));
      Belief belief = Believe(report_, joined_.back(), device_);
      const bool repeats = !joined_.back().folded && joined_.back().runs > 1;
      if (!belief.holds() && !options_.runs && repeats) TakeForOneRun(measurement, belief);
      out_.beliefs.push_back({measurement.path, std::move(belief)});
    }
    const Joined& joined = joined_.back();
    NoteOther(measurement);
    levels_.push_back(LevelsOf(measurement, joined, RunTimeOf(measurement, joined, names_)));
    for (const std::string& note : joined.notes)
      out_.notes.push_back(fmt::format("{}: {}", measurement.path, note));
    if (joined.idle) Prefer(out_.totals.idle, joined.idle);
    if (joined.runs > out_.totals.runs || out_.totals.runs_from.empty())
      out_.totals.runs_from = joined.runs_from;
    out_.totals.runs = std::max(out_.totals.runs, joined.runs);
    std::optional<Seconds> copies;
    for (const MeasuredKernel& row : measurement.kernels) {
      if (row.kind == MeasuredKind::kCopy && row.duration)
        Sum(copies, std::optional(*row.duration * static_cast<double>(row.launches)));
    }
    if (copies) Prefer(out_.copies, copies);
  }

  // Layers of one run that are launched alike look like runs: where these are not the model, all of
  // them may be one. Where they are, that is what is joined and believed.
  void TakeForOneRun(const Measurement& measurement, Belief& belief) {
    Joined joined = Join(report_, measurement, device_, 1);
    joined.runs_from = "as one run it is more likely the model";
    Belief other = Believe(report_, joined, device_);
    if (!other.holds()) return;
    joined_.back() = std::move(joined);
    belief = std::move(other);
  }

  // What looks like the model and is another run of it than the options tell.
  void NoteOther(const Measurement& measurement) {
    constexpr double kSlow = 4;  // no framework's kernels are so much slower all over
    if (measurement.level() != TraceLevel::kModel) {
      const std::optional<double> pace = out_.beliefs.back().belief.only_by_time;
      if (pace && *pace > kSlow) {
        out_.notes.push_back(
            fmt::format("{}: its products take {:.3g} times what is expected, and nothing in it "
                        "counts what they do: another --batch, --dim or device looks the same",
                        measurement.path, *pace));
      }
    }
    for (const MeasuredKernel& row : measurement.kernels) {
      const auto note = device_ ? OtherDeviceNote(row.device, *device_) : std::nullopt;
      if (!note) continue;
      out_.notes.push_back(fmt::format("{}: {}", measurement.path, *note));
      return;
    }
  }

  // Times first from the files that were given for their times, of these from the finest level.
  // Times of a run with counters stand in where no other run was traced.
  void MergeFiles() {
    std::vector<std::size_t> order(files_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      if (files_[a].times != files_[b].times) return files_[a].times;
      return levels_[a].finest > levels_[b].finest;
    });
    TraceLevel finest = TraceLevel::kModel;
    for (const std::size_t f : order) {
      const std::vector<Measured>& kernels = joined_[f].kernels;
      for (std::size_t k = 0; k < kernels.size(); ++k) {
        if (!measured_[k].time && kernels[k].time) time_level_[k] = levels_[f].finest;
        MergeMeasured(measured_[k], kernels[k], levels_[f].finest > finest);
      }
      finest = std::max(finest, levels_[f].finest);
    }
    if (finest == TraceLevel::kModel) {
      throw Error("{}: runs of the model and nothing finer: give a file with operators or kernels",
                  fmt::join(out_.files, ", "));
    }
  }

  void AddThroughput() {
    Throughput throughput;
    const auto seconds = out_.run ? std::optional(out_.run->wall) : out_.totals.measured;
    if (!seconds || seconds->value() <= 0) return;
    throughput.runs_per_s = 1 / seconds->value();
    throughput.at_most = !out_.run;
    for (const auto& [name, size] : report_.model.dims) {
      const DimName kind = ClassifyDimName(name);
      if (kind == DimName::kBatch || kind == DimName::kInitial) throughput.batch = size;
    }
    out_.throughput = throughput;
  }

  void AddRows() {
    const RowMaker maker(report_, device_);
    std::vector<bool> shared(measured_.size(), false);
    for (std::size_t k = 0; k < measured_.size(); ++k) {
      if (measured_[k].any())
        out_.rows.push_back(maker.Row(k, measured_[k], time_level_[k], levels_));
    }
    for (std::size_t f = 0; f < joined_.size(); ++f) {
      for (const Joined::Shared& group : joined_[f].shared) {
        out_.rows.push_back(maker.SharedRow(group, levels_[f].finest));
        if (group.beside) continue;
        for (const std::size_t k : group.kernels) shared[k] = true;
      }
    }
    for (std::size_t k = 0; k < measured_.size(); ++k) {
      if (measured_[k].any() || shared[k]) continue;
      if (auto node = maker.Unmatched(k)) out_.unmatched_nodes.push_back(std::move(*node));
    }
  }

  void AddUnmatched() {
    // Several files of one model leave the same kernels over: the n-th of a name is one row.
    std::map<std::pair<std::string, int>, std::size_t> known;
    for (const Joined& joined : joined_) {
      std::map<std::string, int> seen;
      for (const UnmatchedKernel& kernel : joined.unmatched) {
        const auto [at, added] = known.emplace(std::pair(kernel.name, seen[kernel.name]++),
                                               out_.unmatched_kernels.size());
        if (added) {
          out_.unmatched_kernels.push_back(kernel);
          continue;
        }
        UnmatchedKernel& row = out_.unmatched_kernels[at->second];
        Prefer(row.time, kernel.time);
        Prefer(row.vector_flops, kernel.vector_flops);
        Prefer(row.dram_bytes, kernel.dram_bytes);
      }
    }
  }

  const Report& report_;
  const std::optional<Device>& device_;
  const CompareOptions& options_;
  std::vector<Measured> measured_;      // as Report::kernels
  std::vector<TraceLevel> time_level_;  // of their times, as Report::kernels
  const NodeNames names_;
  std::vector<File> files_;
  std::vector<Joined> joined_;      // as files_
  std::vector<FileLevels> levels_;  // as files_
  Comparison out_;
};

}  // namespace

Comparison Compare(const Report& report, std::vector<Measurement> measurements,
                   std::vector<Measurement> times, const std::optional<Device>& device,
                   const CompareOptions& options) {
  return Comparer(report, device, options).Run(std::move(measurements), std::move(times));
}

void RequireBelief(const Comparison& comparison) {
  for (const FileBelief& file : comparison.beliefs) {
    if (file.belief.holds()) continue;
    throw Error("{}: this file does not look like this model: {} (--force compares all the same)",
                file.file, fmt::join(file.belief.Against(), "; "));
  }
}

std::optional<double> JudgedRatio(const CompareRow& row) {
  return row.flops_ratio ? row.flops_ratio : row.time_ratio;
}

std::vector<std::size_t> RowsOutside(const Comparison& comparison, double low, double high) {
  std::vector<std::size_t> outside;
  for (std::size_t r = 0; r < comparison.rows.size(); ++r) {
    const auto ratio = JudgedRatio(comparison.rows[r]);
    if (ratio && (*ratio < low || *ratio > high)) outside.push_back(r);
  }
  return outside;
}

}  // namespace dlcost
