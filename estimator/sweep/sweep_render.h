#pragma once

#include <map>
#include <string>
#include <vector>

#include "estimator/report/json_writer.h"
#include "estimator/sweep/curves.h"
#include "estimator/sweep/distribution.h"
#include "estimator/sweep/falls.h"
#include "estimator/sweep/sweep.h"

namespace dlcost {

inline constexpr std::string_view kSweepSchema = "dlcost.sweep/1";

// Falls of a sweep's curves that are looked into: each takes two reports.
inline constexpr std::size_t kExplanations = 24;

// Curves, distributions: as many as text tells, the rest is in JSON.
inline constexpr std::size_t kSweepSections = 20;

struct SweepRenderOptions {
  std::vector<SweepCondition> conditions;
  std::map<std::string, double> price;  // per hour, by device id; "" for every other
  std::string rank;  // "price", "latency", "throughput", "energy": of what meets the conditions
  std::size_t rows = 60;  // of the table of points
  bool plot = false;
  std::size_t width = 0;  // of the terminal; 0: any
  bool blocks = false;    // curves as small charts of block characters
  std::string note;       // a last line of the text, "" for none

  // Per million items; nullopt without a price or a time.
  std::optional<double> CostOf(const Sweep& sweep, const SweepPoint& point) const;
  // What `rank` orders points by, least first; nullopt where it is not known of the point.
  std::optional<double> RankOf(const Sweep& sweep, const SweepPoint& point) const;
};

// The most that one item takes: the board's rated power for the whole time, J. nullopt where the
// power or the time is not known.
std::optional<double> JoulesPerItem(const Sweep& sweep, const SweepPoint& point);

// The heading and one line of CSV.
std::string SweepCsvHead(const Sweep& sweep);
std::string SweepCsvLine(const Sweep& sweep, const SweepRenderOptions& options,
                         const SweepPoint& point);
std::string SweepText(const Sweep& sweep, const SweepRenderOptions& options,
                      const std::vector<SweepPoint>& points);
// What `points` tell of observed sizes: times of single runs, and of batches of each way.
std::string DistributionsText(const Sweep& sweep, const std::vector<SweepPoint>& points);
void WriteSweepJson(const Sweep& sweep, const SweepRenderOptions& options,
                    const std::vector<SweepPoint>& points, const TextSink& sink);
// One self-contained page: curves over one size, a heat map over two, the points. Throws Error for
// more points than a browser draws.
std::string SweepHtml(const Sweep& sweep, const SweepRenderOptions& options,
                      const std::vector<SweepPoint>& points);
// A picture for slides: throughput over size. Throws Error without times or without a range of
// sizes. Without a `title`: the model's name.
std::string SweepSvg(const Sweep& sweep, const std::vector<SweepPoint>& points, bool dark = false,
                     const std::string& title = "");
// Curves in characters: throughput over size, both logarithmic, a letter for each curve. "" without
// times.
std::string SweepPlot(const Sweep& sweep, const std::vector<SweepCurve>& curves, std::size_t width);
// The id of a device, "" where there is none.
std::string DeviceName(const Sweep& sweep, std::size_t device);
// What tells a setup from the others, its type in any case: "f16", "tensorrt amp-fp16"; "" where it
// is the only one, in the file's types.
std::string SetupName(const Sweep& sweep, std::size_t setup);
// The same for what they are: "dtype", "runtime precision".
std::string SetupHead(const Sweep& sweep);
// The runtimes of all setups, each once: "tensorrt, onnxruntime".
std::string RuntimesOf(const Sweep& sweep);
// "a100-sxm4-80gb f16, sequence=128": what a curve holds fixed.
std::string CurveName(const Sweep& sweep, const SweepCurve& curve);
// Points that meet all conditions and fit, best first by `rank`; without those of which that is not
// known.
std::vector<const SweepPoint*> Ranked(const Sweep& sweep, const SweepRenderOptions& options,
                                      const std::vector<SweepPoint>& points);

}  // namespace dlcost
