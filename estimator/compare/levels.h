#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "estimator/compare/run_time.h"

namespace dlcost {

// Times of the predicted kernels at one level, per run of the model.
using LayerTimes = std::vector<std::optional<Seconds>>;

// What one file tells of each level that it looked at.
struct FileLevels {
  std::string file;
  TraceLevel finest = TraceLevel::kModel;
  std::optional<RunTime> run;
  LayerTimes layer, library, kernel;  // as Report::kernels; empty where not told
};
FileLevels LevelsOf(const Measurement& measurement, const Joined& joined,
                    std::optional<RunTime> run);

// A level of the run. Looking deeper slows what lies above (leveled experimentation): so its time
// is that of the file that looked no deeper, or least deep.
struct LevelRow {
  TraceLevel level = TraceLevel::kModel;
  std::string file;  // whose time it is
  Seconds time;      // per run: of the run, or of all layers that the file knows
  // The same in files that looked deeper, over the layers that both know.
  struct Deeper {
    std::string file;
    TraceLevel finest = TraceLevel::kModel;
    Seconds time, overhead;  // overhead: what that file's profiler added
  };
  std::vector<Deeper> deeper;
};
// The coarsest first; levels that no file tells are left out.
std::vector<LevelRow> MergeLevels(const std::vector<FileLevels>& files);

// What is expected of a kernel at that level: a profiler's rows of kernels know nothing of the
// host.
std::optional<Seconds> ExpectedAt(const KernelRow& kernel, TraceLevel level);

// Of one predicted kernel, the time at that level with the least overhead.
std::optional<Seconds> TimeAt(const std::vector<FileLevels>& files, TraceLevel level,
                              std::size_t kernel);
// The run with the least overhead.
std::optional<RunTime> RunOf(const std::vector<FileLevels>& files);

}  // namespace dlcost
