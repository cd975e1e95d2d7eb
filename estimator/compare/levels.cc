#include "estimator/compare/levels.h"

#include <algorithm>

#include "estimator/compare/tally.h"

namespace dlcost {
namespace {

const LayerTimes& TimesAt(const FileLevels& file, TraceLevel level) {
  switch (level) {
    case TraceLevel::kLibrary:
      return file.library;
    case TraceLevel::kKernel:
      return file.kernel;
    default:
      return file.layer;
  }
}

bool Tells(const FileLevels& file, TraceLevel level) {
  if (level == TraceLevel::kModel) return file.run.has_value();
  const LayerTimes& times = TimesAt(file, level);
  return std::any_of(times.begin(), times.end(), [](const auto& time) { return time.has_value(); });
}

// Files that tell a level, the one that looked least deep first.
std::vector<const FileLevels*> Telling(const std::vector<FileLevels>& files, TraceLevel level) {
  std::vector<const FileLevels*> telling;
  for (const FileLevels& file : files) {
    if (Tells(file, level)) telling.push_back(&file);
  }
  std::stable_sort(telling.begin(), telling.end(),
                   [](const FileLevels* a, const FileLevels* b) { return a->finest < b->finest; });
  return telling;
}

// Sums of both over the layers that both know.
std::pair<Seconds, Seconds> Common(const LayerTimes& a, const LayerTimes& b) {
  Seconds first(0), second(0);
  for (std::size_t k = 0; k < std::min(a.size(), b.size()); ++k) {
    if (!a[k] || !b[k]) continue;
    first += *a[k];
    second += *b[k];
  }
  return {first, second};
}

}  // namespace

FileLevels LevelsOf(const Measurement& measurement, const Joined& joined,
                    std::optional<RunTime> run) {
  FileLevels levels{.file = measurement.path, .finest = measurement.level(), .run = std::move(run)};
  LayerTimes own, host;
  for (const Measured& measured : joined.kernels) {
    own.push_back(measured.time);
    host.push_back(measured.host);
  }
  switch (levels.finest) {
    case TraceLevel::kModel:
      break;
    case TraceLevel::kLayer:
      levels.layer = std::move(own);
      break;
    case TraceLevel::kLibrary:
      levels.library = std::move(own);
      levels.layer = std::move(host);
      break;
    case TraceLevel::kKernel:
      levels.kernel = std::move(own);
      levels.layer = std::move(host);
      break;
  }
  return levels;
}

std::vector<LevelRow> MergeLevels(const std::vector<FileLevels>& files) {
  std::vector<LevelRow> rows;
  for (const TraceLevel level :
       {TraceLevel::kModel, TraceLevel::kLayer, TraceLevel::kLibrary, TraceLevel::kKernel}) {
    const std::vector<const FileLevels*> telling = Telling(files, level);
    if (telling.empty()) continue;
    const FileLevels& best = *telling.front();
    LevelRow row{.level = level, .file = best.file, .time = Seconds(0), .deeper = {}};
    if (level == TraceLevel::kModel) {
      row.time = best.run->wall;
    } else {
      for (const auto& time : TimesAt(best, level)) row.time += time.value_or(Seconds(0));
    }
    for (const FileLevels* const file : telling) {
      if (file->finest <= best.finest) continue;  // it looked no deeper
      const auto [least, more] = level == TraceLevel::kModel
                                     ? std::pair(best.run->wall, file->run->wall)
                                     : Common(TimesAt(best, level), TimesAt(*file, level));
      if (least.value() <= 0) continue;  // no layer in common
      row.deeper.push_back({file->file, file->finest, more, more - least});
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::optional<Seconds> ExpectedAt(const KernelRow& kernel, TraceLevel level) {
  return level == TraceLevel::kKernel ? kernel.on_device : kernel.sums.expected;
}

std::optional<Seconds> TimeAt(const std::vector<FileLevels>& files, TraceLevel level,
                              std::size_t kernel) {
  for (const FileLevels* const file : Telling(files, level)) {
    const LayerTimes& times = TimesAt(*file, level);
    if (kernel < times.size() && times[kernel]) return times[kernel];
  }
  return std::nullopt;
}

std::optional<RunTime> RunOf(const std::vector<FileLevels>& files) {
  const auto telling = Telling(files, TraceLevel::kModel);
  return telling.empty() ? std::nullopt : telling.front()->run;
}

}  // namespace dlcost
