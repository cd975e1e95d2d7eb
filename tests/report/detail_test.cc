// Tables tell less than JSON does; what they tell is the same.

#include <gtest/gtest.h>

#include "estimator/hardware/database.h"
#include "estimator/report/render.h"
#include "estimator/report/report.h"
#include "tests/infer/small_model.h"

namespace dlcost {
namespace {

// Two modules that fuse differently, and an operator that nobody knows.
InferredModel TwoModules() {
  SmallModel model;
  model.Input("x", {8, 64}).Weight("w", {64, 64}).Weight("b", {64});
  model.AddNode("MatMul", {"x", "w"}, {"h"}).set_name("encoder/layer.0/MatMul");
  model.AddNode("Add", {"h", "b"}, {"i"}).set_name("encoder/layer.0/Add");
  model.AddNode("Softmax", {"i"}, {"j"}).set_name("head/Softmax");
  model.AddNode("Mystery", {"j"}, {"k"}).set_name("head/Mystery");
  return model.Output("j").Infer();
}

Report ModulesReport(ReportDetail detail, const std::optional<Device>& device) {
  static const InferredModel& model = *new InferredModel(TwoModules());
  ReportOptions options;
  options.plan.fusion = Fusion::kDefault;
  options.detail = detail;
  return BuildReport(model, device, options);
}

TEST(ReportDetail, LessOfItTellsTheSame) {
  const DeviceDatabase database({std::string(DLCOST_SOURCE_DIR) + "/hw_specs"});
  for (const std::optional<Device>& device :
       {std::optional<Device>(), std::optional<Device>(database.Find("a100"))}) {
    const Report full = ModulesReport(ReportDetail::kOperands, device);
    ASSERT_EQ(full.nodes.size(), 4U);
    EXPECT_FALSE(full.nodes[0].inputs.empty());
    const Report rows = ModulesReport(ReportDetail::kRows, device);
    EXPECT_TRUE(rows.nodes[0].inputs.empty());
    const Report scopes = ModulesReport(ReportDetail::kScopes, device);
    EXPECT_TRUE(scopes.nodes.empty() && scopes.kernels.empty());
    const Report operators = ModulesReport(ReportDetail::kOperators, device);
    EXPECT_TRUE(operators.by_scope.empty());
    for (const GroupBy by : {GroupBy::kNode, GroupBy::kKernel}) {
      EXPECT_EQ(RenderText(rows, {.by = by}), RenderText(full, {.by = by}));
    }
    const TextOptions by_scope{.by = GroupBy::kScope}, by_op{.by = GroupBy::kOp};
    EXPECT_EQ(RenderText(scopes, by_scope), RenderText(full, by_scope));
    EXPECT_EQ(RenderText(operators, by_op), RenderText(full, by_op));
  }
}

}  // namespace
}  // namespace dlcost
