#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "estimator/core/error.h"
#include "estimator/profile_report/render.h"
#include "estimator/profile_report/tables.h"
#include "estimator/report/page_json.h"
#include "estimator/report/text_table.h"

// The page of the model's report, with other sections: page/profile.js draws them.
namespace dlcost {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostDots = 5000;  // that a browser draws without a pause
constexpr std::size_t kMostRows = 1000;  // of a table

Json Value(const std::optional<double>& value) { return value ? Json(*value) : Json(); }
Json Whole(const std::optional<ProfileGroup::Sum>& sum) {
  if (sum && sum->whole) return sum->value;
  return {};
}

Json Kernels(const ProfileReport& report) {
  TextTable texts;
  Json rows = Json::array();
  const std::size_t shown = std::min(kMostDots, report.kernels.size());
  for (std::size_t k = 0; k < shown; ++k) {
    const ProfileGroup& kernel = report.kernels[k];
    const auto limiter = kernel.Limiter();
    // A lower bound has no place on a roofline.
    const Json flops = Whole(kernel.Flops()), bytes = Whole(kernel.Bytes());
    rows.push_back({texts.Number(Printable(kernel.name(), 300)), texts.Number(kernel.family),
                    texts.Number(kernel.op.empty() ? kernel.module : kernel.op),
                    texts.Number(GridText(kernel.grid)),
                    texts.Number(limiter ? std::string(Name(*limiter)) : "unknown"),
                    report.sampled ? Json() : Json(kernel.launches()), Whole(kernel.Time()), flops,
                    flops, bytes, Value(kernel.LeastTime()), Value(kernel.FlopRate()),
                    Value(kernel.ByteRate()), Value(kernel.Mean(Metric::kOccupancy))});
  }
  return {{"names", texts.texts()},
          {"columns",
           {"label", "ops", "scope", "algorithm", "limiter", "launches", "time", "flops", "least",
            "bytes", "bound", "flop_rate", "byte_rate", "occupancy"}},
          {"rows", rows}};
}

Json Tables(const ProfileReport& report) {
  Json tables = Json::array();
  for (const ProfileTable& table : TablesOf(report)) {
    const ProfileCells cells = CellsOf(table, report.sampled, kMostRows);
    tables.push_back({{"key", table.key},
                      {"title", table.title},
                      {"head", cells.head},
                      {"left", cells.left},
                      {"rows", cells.rows},
                      {"left_out", cells.left_out}});
  }
  return tables;
}

Json Page(const ProfileReport& report, const ProfileReportOptions& options) {
  Json lines = Json::array();
  for (const auto& [label, text] : SummaryLines(report, options)) lines.push_back({label, text});
  if (report.kernels.size() > kMostDots) {
    lines.push_back(
        {"note", fmt::format("the roofline shows the {} kernels of the most time, of {}", kMostDots,
                             report.kernels.size())});
  }
  const auto roofs = RoofsOf(report, options);
  const auto is_used = [&](const std::string& name) {
    return std::any_of(roofs.begin(), roofs.end(),
                       [&](const auto& roof) { return roof.name == name; });
  };
  return {{"title", Printable(report.path.substr(report.path.rfind('/') + 1), 80)},
          {"profile", {{"lines", lines}, {"tables", Tables(report)}}},
          {"roofs", DeviceRoofsJson(options.device, is_used)},
          {"device", DeviceFactsJson(options.device)},
          {"kernel_table", Kernels(report)}};
}

}  // namespace

std::string RenderProfileHtml(const std::vector<ProfileReport>& reports,
                              const ProfileReportOptions& options, const std::string& title) {
  Json data = {{"title", title}, {"reports", Json::array()}};
  for (const ProfileReport& report : reports) data["reports"].push_back(Page(report, options));
  return RenderPage(title, data);
}

}  // namespace dlcost
