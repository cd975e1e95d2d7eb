#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "estimator/core/error.h"
#include "estimator/profile_report/render.h"
#include "estimator/profile_report/tables.h"
#include "estimator/report/measured_page.h"
#include "estimator/report/page_json.h"

namespace dlcost {
namespace {

using Json = nlohmann::ordered_json;

std::optional<double> Whole(const std::optional<ProfileGroup::Sum>& sum) {
  if (sum && sum->whole) return sum->value;
  return std::nullopt;
}

std::vector<MeasuredDot> Kernels(const ProfileReport& report) {
  std::vector<MeasuredDot> dots;
  const std::size_t shown = std::min(kMostDots, report.kernels.size());
  for (std::size_t k = 0; k < shown; ++k) {
    const ProfileGroup& kernel = report.kernels[k];
    MeasuredDot dot;
    dot.label = Printable(kernel.name(), 300);
    dot.op = kernel.family;
    dot.scope = kernel.op.empty() ? kernel.module : kernel.op;
    dot.algorithm = GridText(kernel.grid);
    if (const auto limiter = kernel.Limiter()) dot.limiter = Name(*limiter);
    if (!report.sampled) dot.launches = static_cast<double>(kernel.launches());
    dot.time = Whole(kernel.Time());
    dot.flops = Whole(kernel.Flops());
    dot.bytes = Whole(kernel.Bytes());
    dot.bound = kernel.LeastTime();
    dot.flop_rate = kernel.FlopRate();
    dot.byte_rate = kernel.ByteRate();
    dot.occupancy = kernel.Mean(Metric::kOccupancy);
    dots.push_back(std::move(dot));
  }
  return dots;
}

std::vector<MeasuredTable> Tables(const ProfileReport& report) {
  std::vector<MeasuredTable> tables;
  for (const ProfileTable& table : TablesOf(report)) {
    ProfileCells cells = CellsOf(table, report.sampled, kMostPageRows);
    tables.push_back({std::string(table.key), std::string(table.title), std::move(cells.head),
                      std::move(cells.left), std::move(cells.rows), cells.left_out});
  }
  return tables;
}

Json Page(const ProfileReport& report, const ProfileReportOptions& options) {
  MeasuredPage page;
  page.title = Printable(report.path.substr(report.path.rfind('/') + 1), 80);
  page.lines = SummaryLines(report, options);
  if (report.kernels.size() > kMostDots) {
    page.lines.emplace_back(
        "note", fmt::format("the roofline shows the {} kernels of the most time, of {}", kMostDots,
                            report.kernels.size()));
  }
  page.dots = Kernels(report);
  page.tables = Tables(report);
  page.device = options.device;
  for (const auto& roof : RoofsOf(report, options)) page.roofs.push_back(roof.name);
  return MeasuredPageJson(page);
}

}  // namespace

std::string RenderProfileHtml(const std::vector<ProfileReport>& reports,
                              const ProfileReportOptions& options, std::string title) {
  if (title.empty() && !reports.empty()) {
    const std::string& path = reports.front().path;
    title = "dlcost: " + Printable(path.substr(path.rfind('/') + 1), 80);
  }
  Json data = {{"title", title}, {"reports", Json::array()}};
  for (const ProfileReport& report : reports) data["reports"].push_back(Page(report, options));
  return RenderPage(title, data);
}

}  // namespace dlcost
