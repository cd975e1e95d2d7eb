#include "estimator/profiles/one_run.h"

#include <algorithm>

#include "estimator/core/error.h"
#include "estimator/profiles/add_counters.h"
#include "estimator/profiles/nest.h"

namespace dlcost {
namespace {

// Counters of the same launches, taken in other runs; notes say how many found their launch.
void AddCountersOf(const std::vector<Measurement>& files, Measurement& trace) {
  for (const Measurement& counters : files) {
    const std::string& path = counters.path;
    const AddedCounters added = AddCounters(trace, counters);
    if (added.launches == 0) {
      throw Error("{}: none of the {} launches in {} is one that it counts: files of one program?",
                  Printable(path), added.of, Printable(trace.path));
    }
    trace.notes.push_back(fmt::format("counters of {} of {} launches from {}", added.launches,
                                      added.of, Printable(path)));
    if (added.left_over > 0) {
      trace.notes.push_back(fmt::format("{} launches in {} are none of the trace's",
                                        added.left_over, Printable(path)));
    }
  }
}

Measurement Nested(std::vector<Measurement> files) {
  std::stable_sort(files.begin(), files.end(), [](const Measurement& a, const Measurement& b) {
    return a.level() < b.level();
  });
  Measurement finest = std::move(files.back());
  files.pop_back();
  for (const Measurement& outer : files) {
    if (outer.level() == finest.level()) {
      throw Error(
          "{} and {} are both at the {} level: --counters belong to the launches of one file",
          Printable(outer.path), Printable(finest.path), Name(finest.level()));
    }
    const NestedRows nested = NestRows(finest, outer);
    if (nested.rows == 0) {
      throw Error("{}: none of the {} kernels in {} lies in it: files of one run, by one clock?",
                  Printable(outer.path), nested.of, Printable(finest.path));
    }
    finest.notes.push_back(fmt::format("{} of {} kernels were launched by operators of {}",
                                       nested.rows, nested.of, Printable(outer.path)));
  }
  return finest;
}

}  // namespace

Measurement OneRun(std::vector<Measurement> files, const std::vector<Measurement>& counters) {
  Measurement run = Nested(std::move(files));
  AddCountersOf(counters, run);
  return run;
}

}  // namespace dlcost
