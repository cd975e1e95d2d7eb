#include "estimator/report/layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dlcost {
namespace {

using ::testing::ElementsAre;

// A report of kernels in module paths: label and FLOPs of each.
struct Ran {
  std::string scope, label;
  std::int64_t flops;
};
Report ReportOfRun(const std::vector<Ran>& all) {
  Report report;
  for (const Ran& one : all) {
    NodeRow node;
    node.scope = one.scope;
    KernelRow kernel;
    kernel.main = report.nodes.size();
    kernel.op = "Op";
    kernel.label = one.label;
    kernel.launches = Count(1);
    kernel.sums.flops = Flops(one.flops);
    report.nodes.push_back(node);
    report.kernels.push_back(kernel);
  }
  return report;
}

std::vector<std::string> Told(const std::vector<Layer>& layers) {
  std::vector<std::string> lines;
  for (const Layer& layer : layers) {
    lines.push_back(std::string(2 * layer.depth, ' ') + layer.name + " x" +
                    std::to_string(layer.times) + " " + layer.story + " " +
                    std::to_string(layer.row.sums.flops.value()));
  }
  return lines;
}

TEST(Layers, EqualModulesAreOne) {
  const Report report = ReportOfRun({{"net/0/a", "conv", 5},
                                     {"net/0/b", "gemm", 7},
                                     {"net/1/a", "conv", 5},
                                     {"net/1/b", "gemm", 7},
                                     {"net/2/a", "conv", 5},
                                     {"net/2/b", "gemm", 7}});
  EXPECT_THAT(Told(LayersOf(report, 0)),
              ElementsAre("net/0..2 x3  36", "  a x1 conv 15", "  b x1 gemm 21"));
  EXPECT_THAT(Told(LayersOf(report, 1)), ElementsAre("net/0..2 x3  36"));
}

TEST(Layers, OtherWorkIsAnotherLayer) {
  const Report report = ReportOfRun({{"0/a", "conv", 5}, {"1/a", "conv", 6}, {"2/a", "conv", 5}});
  EXPECT_THAT(Told(LayersOf(report, 0)), ElementsAre("0/a, 2/a x2 conv 10", "1/a x1 conv 6"));
}

TEST(Layers, KernelsWithoutAModuleStandByTheirOperator) {
  const Report report = ReportOfRun({{"", "conv", 5}, {"", "conv", 5}, {"", "relu", 1}});
  EXPECT_THAT(Told(LayersOf(report, 0)), ElementsAre("Op x2 conv 10", "Op x1 relu 1"));
}

TEST(Layers, LongPathsEnd) {
  std::string path;
  for (int i = 0; i < 100'000; ++i) path += "a/";
  EXPECT_EQ(PathParts(path).size(), 64U);
  EXPECT_EQ(LayersOf(ReportOfRun({{path, "conv", 5}, {path, "gemm", 5}}), 0).size(), 3U);
  EXPECT_THAT(PathParts("model.layers.0"), ElementsAre("model", "layers", "0"));
}

}  // namespace
}  // namespace dlcost
