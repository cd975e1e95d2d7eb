// ONNX Runtime keeps channels in blocks of 8 or 16, as the machine has it that a file was made for.

#include <gtest/gtest.h>

#include "tests/infer/small_model.h"

namespace dlcost {
namespace {

// ReorderInput of 72 channels; `filters` are those of the convolution behind it.
Shape Reordered(std::vector<int> filters, int groups) {
  SmallModel model;
  model.Input("x", {1, 72, 4, 4}).Weight("w", std::move(filters));
  model.AddNodeOf("com.microsoft.nchwc", "ReorderInput", {"x"}, {"r"});
  auto& conv = model.AddNode("Conv", {"r", "w"}, {"y"});
  conv.set_domain("com.microsoft.nchwc");
  SetInt(conv, "group", groups);
  model.Output("y");
  return ShapeOf(model.Infer(), "r");
}

TEST(BlockedChannels, AreThoseOfTheFilters) {
  EXPECT_EQ(Reordered({32, 80, 1, 1}, 1), Shape({1, 80, 4, 4}));
  EXPECT_EQ(Reordered({32, 72, 1, 1}, 1), Shape({1, 72, 4, 4}));
  EXPECT_EQ(Reordered({80, 1, 3, 3}, 80), Shape({1, 80, 4, 4}));
}

TEST(BlockedChannels, AreEightsWhereNothingTells) {
  SmallModel model;
  model.Input("x", {1, 12, 4, 4});
  model.AddNodeOf("com.microsoft.nchwc", "ReorderInput", {"x"}, {"y"});
  model.Output("y");
  EXPECT_EQ(ShapeOf(model.Infer(), "y"), Shape({1, 16, 4, 4}));
}

}  // namespace
}  // namespace dlcost
