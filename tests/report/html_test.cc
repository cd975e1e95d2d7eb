#include "estimator/report/html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/regress/variants.h"

namespace dlcost {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using variants::Network;
using variants::ReportOf;

nlohmann::json DataOf(const std::string& page) {
  const std::string start = "id=\"data\">";
  const std::size_t from = page.find(start) + start.size();
  return nlohmann::json::parse(page.substr(from, page.find("</script>", from) - from));
}

Device FindDevice(const std::string& name) {
  return DeviceDatabase({std::string(DLCOST_SOURCE_DIR) + "/hw_specs"}).Find(name);
}

TEST(Html, HasEveryKernelAndEveryRoof) {
  const Report report = ReportOf(Network("resnet50"), "a100", {}, Fusion::kNone);
  const Device device = FindDevice("a100");
  const nlohmann::json page = DataOf(RenderHtml({{&report, &device}}, "title"))["reports"][0];
  EXPECT_EQ(page["kernel_table"]["rows"].size(), 121u);  // the Flatten is a view
  EXPECT_EQ(page["totals"]["macs"], 4'089'184'256);
  EXPECT_EQ(page["roofs"]["compute"].size(), device.rates.size());
  EXPECT_EQ(page["roofs"]["memory"][0]["rate"], device.memory.bandwidth->value());
  EXPECT_EQ(page["device"]["facts"].size(), device.facts.size());
  std::int64_t macs = 0;
  const auto& columns = page["kernel_table"]["columns"];
  const auto at =
      static_cast<std::size_t>(std::find(columns.begin(), columns.end(), "macs") - columns.begin());
  const auto& kinds = page["kernel_table"]["kinds"];
  for (const auto& row : page["kernel_table"]["rows"]) {
    macs += kinds[row[2].get<std::size_t>()][at].get<std::int64_t>();
  }
  EXPECT_EQ(macs, 4'089'184'256);
}

TEST(Html, NeedsNoNetwork) {
  const Report report = ReportOf(Network("mobilenet-v2"));
  std::string page = RenderHtml({{&report, nullptr}}, "title");
  constexpr std::string_view kOfThePage = "url(#plot)";  // the roofline's own edge
  for (std::size_t at; (at = page.find(kOfThePage)) != std::string::npos;) {
    page.erase(at, kOfThePage.size());
  }
  for (const char* needle : {"src=", "href=", "@import", "url(", "fetch(", "XMLHttpRequest"}) {
    EXPECT_THAT(page, Not(HasSubstr(needle)));
  }
}

TEST(Html, NamesCannotInject) {
  onnx::ModelProto model = Network("alexnet");
  const std::string evil = "</script><script>alert(1)</script>@DATA@";
  variants::FindNode(model, "/conv1/Conv").set_name(evil);
  const Report report = ReportOf(model);
  const std::string page = RenderHtml({{&report, nullptr}}, "<b>" + evil);
  EXPECT_THAT(page, Not(HasSubstr("alert(1)</script>")));
  EXPECT_THAT(page, Not(HasSubstr("<b>")));
  const nlohmann::json data = DataOf(page);
  const nlohmann::json& names = data["reports"][0]["strings"];
  EXPECT_NE(std::find(names.begin(), names.end(), evil), names.end());
}

TEST(Html, IsTheSameEveryTime) {
  const Report report = ReportOf(Network("resnet18"));
  const Device device = FindDevice("h100");
  EXPECT_EQ(RenderHtml({{&report, &device}}, "t"), RenderHtml({{&report, &device}}, "t"));
}

TEST(Html, FiveThousandKernelsStaySmall) {
  const Report report = ReportOf(Network("bert-base", {{"layers", "200"}}), "a100",
                                 {.dims = {{"sequence", 8}}}, Fusion::kNone);
  const Device device = FindDevice("a100");
  ASSERT_GE(report.kernels.size(), 5000u);
  EXPECT_LT(RenderHtml({{&report, &device}}, "large").size(), 5'000'000u);
}

TEST(Report, MemoryPeaksWhereTheReportSays) {
  for (const char* name : {"resnet50", "mobilenet-v2", "vgg16", "alexnet"}) {
    const Report report = ReportOf(Network(name));
    Bytes peak;
    for (const MemoryStep& step : report.memory) peak = std::max(peak, step.live);
    EXPECT_EQ(peak, report.peak_activation_bytes) << name;
  }
  for (const char* phase : {"prefill", "decode"}) {
    const std::string open = std::string(phase) == "decode" ? "past" : "sequence";
    const Report report =
        ReportOf(Network("gpt2", {{"phase", phase}}), "a100", {.dims = {{open, 64}}});
    Bytes peak;
    for (const MemoryStep& step : report.memory) peak = std::max(peak, step.live);
    EXPECT_EQ(peak, report.peak_activation_bytes) << phase;
  }
}

}  // namespace
}  // namespace dlcost
