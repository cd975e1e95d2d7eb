#include "estimator/parallel/step_memory.h"

#include <gtest/gtest.h>

#include "estimator/infer/memory.h"
#include "tests/training/small_step.h"

namespace dlcost {
namespace {

// s' = tanh(x_t w + s), five times, and a product behind it: what runs inside control flow is no
// moment of its own.
InferredModel LoopAndProduct() {
  SmallModel body;
  body.Input("s", {2, 4}).Input("xt", {2, 3}).Node("MatMul", {"xt", "w"}, {"a"});
  body.Node("Add", {"a", "s"}, {"c"}).Node("Tanh", {"c"}, {"s2"}).Output("s2");
  SmallModel model;
  model.Input("x", {5, 2, 3}).Input("h", {2, 4}).Weight("w", {3, 4}).Weight("v", {4, 4});
  auto& scan = model.AddNode("Scan", {"h", "x"}, {"last"});
  SetGraph(scan, "body", body);
  SetInt(scan, "num_scan_inputs", 1);
  model.Node("MatMul", {"last", "v"}, {"y"});
  return StepOf(model.Output("y").Infer(), {.optimizer = "none", .loss = "sum"});
}

TEST(StepMemory, OfNodesInsideALoopIsThatOfTheLoop) {
  const InferredModel step = LoopAndProduct();
  // Each node is a kernel, and none has a workspace; nothing lasts, as there is no update.
  std::vector<std::size_t> kernel_of(step.nodes.size());
  for (std::size_t n = 0; n < kernel_of.size(); ++n) kernel_of[n] = n;
  const std::vector<Bytes> live = LiveBytes(step, kernel_of);
  const RunningBytes running =
      BesideLasting(step, {.of = kernel_of}, std::vector<Bytes>(step.nodes.size()));
  std::size_t moment = 0, inside = 0;
  for (std::size_t n = 0; n < step.nodes.size(); ++n) {
    step.nodes[n].graph == &step.model->graph ? ++moment : ++inside;
    ASSERT_LT(moment, live.size());
    EXPECT_EQ(running.of[n], live[moment]) << step.nodes[n].name;
  }
  EXPECT_EQ(moment + 1, live.size());
  EXPECT_GT(inside, 3U);
  EXPECT_EQ(running.passes, PeakActivations(step));
  EXPECT_EQ(running.peak, PeakActivations(step));
}

}  // namespace
}  // namespace dlcost
