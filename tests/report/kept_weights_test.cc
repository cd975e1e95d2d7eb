// Weights that one run leaves to the next: what every run reads alike.
#include <gmock/gmock.h>

#include "estimator/report/run_options.h"
#include "tests/infer/small_model.h"
#include "tests/plan/plan_model.h"

namespace dlcost {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

// A table of 1,000 rows of 16, and a product of 16 x 32.
InferredModel Lookup() {
  SmallModel small;
  small.Weight("table", {1000, 16}).Weight("w", {16, 32});
  small.Input("rows", {8}, onnx::TensorProto::INT64);
  small.Node("Gather", {"table", "rows"}, {"x"}).Node("MatMul", {"x", "w"}, {"y"}).Output("y");
  return small.Infer();
}

TEST(KeptWeights, AreNoTablesOfWhichRowsAreRead) {
  const InferredModel model = Lookup();
  EXPECT_EQ(model.weight_bytes, Bytes((1000 * 16 + 16 * 32) * 4));
  EXPECT_EQ(RunOptionsOf({}, model).weights, Bytes(16 * 32 * 4));
}

TEST(KeptWeights, AReportSaysThatTheyStay) {
  const InferredModel model = Lookup();
  ReportOptions options;
  options.plan.fusion = Fusion::kDefault;
  EXPECT_THAT(BuildReport(model, DeviceOf("l4"), options).notes,
              Contains(HasSubstr("2.048 kB of weights stay on the chip")));
  options.run.cache = CacheState::kCold;
  EXPECT_THAT(BuildReport(model, DeviceOf("l4"), options).notes,
              ::testing::Not(Contains(HasSubstr("stay on the chip"))));
}

}  // namespace
}  // namespace dlcost
