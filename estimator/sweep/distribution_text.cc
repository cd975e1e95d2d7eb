#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "estimator/core/error.h"
#include "estimator/report/format.h"
#include "estimator/report/table.h"
#include "estimator/sweep/sweep_render.h"

namespace dlcost {
namespace {

std::string WayText(const Sweep& sweep, const SweepDistribution& row, Batching batching) {
  switch (batching) {
    case Batching::kOneLength:
      return row.batch > 1 ? "each of one length" : "as long as the item";
    case Batching::kSorted:
      return "sorted by length";
    case Batching::kBucketed:
      return fmt::format("in buckets to {}", fmt::join(sweep.axes[row.axis].buckets, ", "));
    case Batching::kAsTheyCome:
      return "as they come, in random order";
    case Batching::kLongest:
      return "padded to the longest";
  }
  return "";
}

// Batches of each way, below their distribution.
std::string WaysText(const Sweep& sweep, const SweepDistribution& row) {
  std::string text;
  std::vector<std::string> head = {
      row.batch > 1 ? fmt::format("batches of {}", row.batch) : std::string("runs of one item"),
      "padding", "FLOPs"};
  if (row.timed) head.insert(head.end(), {"total", "items/s"});
  Table table(head);
  for (const SweepDistribution::Way& way : row.ways) {
    std::vector<std::string> cells = {WayText(sweep, row, way.batching), Percent(way.padding),
                                      Readable(way.flops)};
    if (row.timed) {
      cells.push_back(ReadableTime(way.total));
      cells.push_back(way.total.value() > 0 ? Readable(row.items / way.total.value()) : "-");
    }
    table.Add(std::move(cells));
  }
  const std::string rows = table.Render(0);
  for (std::size_t begin = 0; begin < rows.size();) {
    const std::size_t end = rows.find('\n', begin);
    text += "          " + rows.substr(begin, end - begin) + "\n";
    begin = end + 1;
  }
  return text;
}

}  // namespace

std::string DistributionsText(const Sweep& sweep, const std::vector<SweepPoint>& points) {
  std::string text;
  const std::vector<SweepDistribution> rows = DistributionsOf(sweep, points);
  for (std::size_t i = 0; i < std::min(rows.size(), kSweepSections); ++i) {
    const SweepDistribution& row = rows[i];
    std::vector<std::string> words;
    if (!sweep.devices.empty()) words.push_back(DeviceName(sweep, row.device));
    if (sweep.setups.size() > 1) words.push_back(SetupName(sweep, row.setup));
    for (std::size_t a = 0; a < sweep.axes.size(); ++a) {
      if (a != row.axis) words.push_back(fmt::format("{}={}", sweep.axes[a].name, row.fixed[a]));
    }
    text += fmt::format("\nobserved  {} of {:g} sizes{}{}\n", Printable(sweep.axes[row.axis].name),
                        row.items, words.empty() ? "" : ": ", fmt::join(words, " "));
    text += fmt::format("          mean {} FLOPs", Readable(row.mean_flops));
    if (row.timed) {
      text += fmt::format("; mean {}, median {}, 90 % {}, 99 % {}, longest {}",
                          ReadableTime(row.mean), ReadableTime(row.p50), ReadableTime(row.p90),
                          ReadableTime(row.p99), ReadableTime(row.longest));
    }
    text += "\n\n";
    text += WaysText(sweep, row);
  }
  if (rows.size() > kSweepSections) {
    text += fmt::format("\nobserved  {} more: --format json\n", rows.size() - kSweepSections);
  }
  return text;
}

}  // namespace dlcost
