// What a kernel does is decided once: explain, the views, the JSON report, the page and compare
// tell of the same algorithm, tile, traffic, launches and time, on devices of different makers.
#include "tests/roofline/one_execution.h"

#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "estimator/compare/compare.h"
#include "estimator/report/html.h"
#include "estimator/report/kernel_views.h"
#include "estimator/report/render.h"
#include "estimator/report/run_options.h"
#include "estimator/roofline/run.h"

namespace dlcost {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

// The kernels of a page by id, with its columns by name.
std::map<std::string, json> PageKernels(const Report& report, const Device& device) {
  const std::string page = RenderHtml({{&report, &device}}, "title");
  const std::string start = "id=\"data\">";
  const std::size_t from = page.find(start) + start.size();
  const json data = json::parse(page.substr(from, page.find("</script>", from) - from));
  const json& table = data["reports"][0]["kernel_table"];
  const json& strings = data["reports"][0]["strings"];
  const std::set<std::string> texts = {"ops",     "algorithm",     "tile",
                                       "limiter", "bound_limiter", "certainty"};
  std::map<std::string, json> kernels;
  std::size_t next = 0;
  for (const KernelRow& row : report.kernels) {
    if (row.launches == Count(0)) continue;
    const json& kind = table["kinds"][table["rows"][next++][2].get<std::size_t>()];
    json kernel;
    for (std::size_t c = 0; c < kind.size(); ++c) {
      const std::string name = table["columns"][c];
      kernel[name] = texts.count(name) ? strings[kind[c].get<std::size_t>()] : json(kind[c]);
    }
    kernels[row.id] = kernel;
  }
  return kernels;
}

std::map<std::string, json> JsonKernels(const Report& report) {
  std::map<std::string, json> kernels;
  const json all = json::parse(RenderJson(report));
  for (const json& kernel : all["kernels"]) kernels[kernel["id"]] = kernel;
  return kernels;
}

// A profile that names the operators and tells nothing of how they ran.
std::map<std::string, CompareRow> CompareRows(const Report& report, const Device& device) {
  Measurement profile;
  profile.format = "onnxruntime";
  profile.runs = 1;
  for (const KernelRow& kernel : report.kernels) {
    if (kernel.launches == Count(0)) continue;
    MeasuredKernel measured;
    measured.name = report.nodes[kernel.main].name + "_kernel_time";
    measured.op = report.nodes[kernel.main].name;
    measured.kind = MeasuredKind::kOp;
    measured.op_type = kernel.op;
    measured.duration = kernel.sums.expected.value_or(Seconds(1e-6));
    profile.Add(std::move(measured));
  }
  std::map<std::string, CompareRow> rows;
  for (const CompareRow& row : Compare(report, {profile}, {}, device).rows) {
    rows.emplace(row.kernel, row);
  }
  return rows;
}

// The fact of an explanation; all of them where a kernel has several parts.
std::vector<const TimeTerm*> Facts(const Expected& expected, std::string_view what) {
  std::vector<const TimeTerm*> facts;
  for (const TimeTerm& term : expected.terms) {
    if (term.what == what && !term.IsTime()) facts.push_back(&term);
  }
  return facts;
}

void ExpectExplains(const KernelRun& told, const TileGrid& grid) {
  const std::string tile = fmt::format("{} x {} x {}", grid.tile_m, grid.tile_n, grid.tile_k);
  const auto tiles = Facts(*told.expected, "tile");
  const auto has = [&](const TimeTerm* fact) { return fact->text == tile; };
  EXPECT_TRUE(tiles.empty() || std::any_of(tiles.begin(), tiles.end(), has)) << tile;
  for (const char* what : {"tiles", "blocks"}) {
    const auto counts = Facts(*told.expected, what);
    const auto same = [&](const TimeTerm* fact) { return fact->value == grid.Blocks().AsDouble(); };
    EXPECT_TRUE(counts.empty() || std::any_of(counts.begin(), counts.end(), same))
        << grid.Blocks().value();
  }
}

TEST(OneExecution, EveryViewOfEveryKernelTellsTheSame) {
  for (const Network& network : kNetworks) {
    const InferredModel model = Load(network);
    for (const char* name : kDevices) {
      const Device device = DeviceOf(name);
      ReportOptions options;
      options.plan.fusion = Fusion::kDefault;
      const Report report = BuildReport(model, device, options);
      const auto in_json = JsonKernels(report), on_page = PageKernels(report, device);
      const auto compared = CompareRows(report, device);
      const std::string view = RenderGemmView(report), work = RenderWorkView(report);
      RunOptions run = RunOptionsOf(options, model);
      run.explain = true;
      const Runner runner(&device, run);
      std::size_t k = 0;
      ForEachKernel(model, options.plan, [&](const Kernel& kernel) {
        const KernelRow& row = report.kernels[k++];
        ASSERT_EQ(row.id, kernel.id);
        if (row.launches == Count(0)) return;
        SCOPED_TRACE(std::string(network.file) + " on " + name + ": " + kernel.id + " " +
                     kernel.label);
        const KernelRun told = runner.Run(kernel);
        const json &written = in_json.at(row.id), &shown = on_page.at(row.id);
        EXPECT_EQ(written["algorithm"], told.algorithm);
        EXPECT_EQ(shown["algorithm"], told.algorithm);
        EXPECT_EQ(written["launches"], told.launches.value());
        EXPECT_EQ(shown["launches"], told.launches.value());
        EXPECT_EQ(written["least_flops"], shown["least"]);
        EXPECT_EQ(written["executed_flops"], shown["executed"]);
        Bytes moved = kernel.bytes();
        if (told.execution != nullptr) {
          moved += told.execution->ExtraRead() + told.execution->ExtraWritten();
        }
        EXPECT_EQ(written["bytes"], kernel.bytes().value());
        EXPECT_EQ(written["executed_bytes"], moved.value());
        EXPECT_EQ(shown["moved"], moved.value());
        const TileGrid* grid = told.execution == nullptr ? nullptr : told.execution->Grid();
        EXPECT_EQ(shown["tile"], grid == nullptr ? "" : TileText(*grid));
        if (grid != nullptr && written.contains("gemm")) {
          EXPECT_EQ(written["gemm"]["tile"],
                    json({grid->tile_m.value(), grid->tile_n.value(), grid->tile_k.value()}));
          EXPECT_EQ(written["gemm"]["split_k"], grid->split_k.value());
          EXPECT_THAT(view, HasSubstr(TileText(*grid)));
        }
        if (told.execution != nullptr) {
          EXPECT_THAT(work, HasSubstr(told.algorithm + ", " +
                                      std::to_string(told.launches.value()) + " launch"));
        }
        const CompareRow& against = compared.at(row.id);
        EXPECT_EQ(against.planned, told.algorithm);
        EXPECT_EQ(against.predicted_bytes, kernel.bytes());
        if (told.execution != nullptr) {
          EXPECT_EQ(against.execution->name, told.algorithm);
          EXPECT_EQ(against.executed, told.execution->flops());
        }
        EXPECT_EQ(written["bound_s"].get<double>(), told.bound.time.value());
        EXPECT_EQ(shown["bound"].get<double>(), told.bound.time.value());
        EXPECT_EQ(shown["bound_limiter"], told.bound.limiter);
        EXPECT_EQ(written["limiter"], told.bound.limiter);
        if (!told.expected) return;
        const double expected = told.expected->time.expected;
        EXPECT_EQ(written["expected_s"].get<double>(), expected);
        EXPECT_EQ(shown["expected"].get<double>(), expected);
        EXPECT_EQ(against.expected->value(), expected);
        EXPECT_EQ(told.expected->terms[0].value, expected);
        EXPECT_EQ(written["limited_by"], told.expected->limiter);
        EXPECT_EQ(shown["limiter"], told.expected->limiter);
        if (grid != nullptr && !device.systolic) ExpectExplains(told, *grid);
      });
    }
  }
}

}  // namespace
}  // namespace dlcost
