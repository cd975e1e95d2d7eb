#include "estimator/report/plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "estimator/report/render.h"
#include "tests/regress/variants.h"

namespace dlcost {
namespace {

using ::testing::HasSubstr;

std::vector<std::string> Lines(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(Plot, FitsTheWidthAndTheHeight) {
  const Report report = variants::ReportOf(variants::Network("resnet50"));
  for (const std::size_t width : {40u, 80u, 200u}) {
    const std::vector<std::string> lines =
        Lines(RenderPlot(report, {.width = width, .height = 15}));
    EXPECT_EQ(lines.size(), 15u + 3u);  // two for the axis, one for the legend
    for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
      EXPECT_LE(lines[i].size(), std::max<std::size_t>(width, 40)) << lines[i];
      EXPECT_EQ(lines[i].find_last_not_of(' ') + 1, lines[i].size()) << "trailing blanks";
    }
  }
}

TEST(Plot, ShowsTheRoofTheSlopeAndTheKernels) {
  const std::string plot =
      RenderPlot(variants::ReportOf(variants::Network("resnet50")), {.width = 100});
  EXPECT_THAT(plot, HasSubstr("---"));
  EXPECT_THAT(plot, HasSubstr("/"));
  const std::string marks = ".oO@";
  const std::string chart = plot.substr(0, plot.find('+'));
  EXPECT_GT(std::count_if(chart.begin(), chart.end(),
                          [&](char c) { return c != '.' && marks.find(c) != std::string::npos; }),
            3);
  // No kernel is above the highest compute roof: its line is the first that is not empty.
  for (const std::string& line : Lines(chart)) {
    const std::string cells = line.substr(line.find('|') + 1);
    if (cells.empty()) continue;
    EXPECT_THAT(cells, HasSubstr("--"));
    break;
  }
}

TEST(Plot, NeedsADeviceAndArithmetic) {
  EXPECT_EQ(RenderPlot(variants::ReportOf(variants::Network("alexnet"), ""), {}), "");
}

TEST(Markdown, HasTheTotalsAndFoldsTheRest) {
  const std::string text = RenderMarkdown(variants::ReportOf(variants::Network("resnet50")));
  EXPECT_THAT(text, HasSubstr("4.089 G MACs"));
  EXPECT_THAT(text, HasSubstr("<details><summary>By operator</summary>"));
  EXPECT_THAT(text, HasSubstr("| Conv | 53 |"));
}

}  // namespace
}  // namespace dlcost
