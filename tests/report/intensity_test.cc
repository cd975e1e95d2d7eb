// FLOP/byte compares the FLOPs and the bytes of the same kernels.

#include <gtest/gtest.h>

#include "estimator/report/report.h"
#include "tests/infer/small_model.h"

namespace dlcost {
namespace {

const GroupRow& RowOf(const Report& report, const std::string& op) {
  for (const GroupRow& row : report.by_op) {
    if (row.name == op) return row;
  }
  throw Error("no row {}", op);
}

// relu(x W + b) is one kernel that MatMul names: 2 * 8 * 16 * 4 FLOPs of the product, 32 of the
// addition and 32 of the maximum over x (512 bytes), W (256), b (16) and the result (128).
TEST(Intensity, OfAnOperatorIsThatOfTheKernelsThatItNames) {
  SmallModel model;
  model.Input("x", {8, 16}).Weight("w", {16, 4}).Weight("b", {4});
  model.Node("MatMul", {"x", "w"}, {"h"}).Node("Add", {"h", "b"}, {"i"});
  model.Node("Relu", {"i"}, {"y"}).Output("y");
  ReportOptions options;
  options.plan.fusion = Fusion::kDefault;
  const Report report = BuildReport(model.Infer(), std::nullopt, options);
  const GroupRow& product = RowOf(report, "MatMul");
  EXPECT_EQ(product.sums.flops, Flops(1024));
  EXPECT_EQ(product.kernel_flops, Flops(1024 + 32 + 32));
  EXPECT_EQ(product.sums.bytes(), Bytes(512 + 256 + 16 + 128));
  EXPECT_DOUBLE_EQ(product.intensity()->value(), 1088.0 / 912);
  for (const char* op : {"Add", "Relu"}) {
    EXPECT_EQ(RowOf(report, op).sums.flops, Flops(32));
    EXPECT_EQ(RowOf(report, op).kernel_flops, Flops(0)) << "no kernel bears its name";
    EXPECT_FALSE(RowOf(report, op).intensity().has_value());
  }
  EXPECT_DOUBLE_EQ(report.totals.intensity()->value(), 1088.0 / 912);
}

// Softmax does 20 times the work of what it reads where it names the kernel of a whole attention:
// each row by itself says the intensity of its own kernel.
TEST(Intensity, AddsUpToTheTotalOverTheBytes) {
  SmallModel model;
  model.Input("q", {2, 8, 16}).Input("k", {2, 16, 8}).Input("v", {2, 8, 16});
  model.Node("MatMul", {"q", "k"}, {"s"}).Node("Softmax", {"s"}, {"p"});
  model.Node("MatMul", {"p", "v"}, {"o"}).Node("Tanh", {"o"}, {"y"}).Output("y");
  ReportOptions options;
  options.plan.fusion = Fusion::kDefault;
  const Report report = BuildReport(model.Infer(), std::nullopt, options);
  Flops kernels, nodes;
  for (const GroupRow& row : report.by_op) {
    kernels += row.kernel_flops;
    nodes += row.sums.flops;
  }
  EXPECT_EQ(kernels, nodes);
  EXPECT_EQ(kernels, report.totals.flops);
}

}  // namespace
}  // namespace dlcost
