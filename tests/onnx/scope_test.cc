#include "estimator/onnx/scope.h"

#include <gtest/gtest.h>

namespace dlcost {
namespace {

TEST(ScopeOf, IsThePathOfTheModule) {
  EXPECT_EQ(ScopeOf("/layer1/0/conv1/Conv", ""), "layer1/0/conv1");
  EXPECT_EQ(ScopeOf("model/layer1/conv1/Conv2D", ""), "model/layer1/conv1");
  EXPECT_EQ(ScopeOf("Conv_7", ""), "");
  EXPECT_EQ(ScopeOf("/Conv", ""), "");
  EXPECT_EQ(ScopeOf("anything", "['', 'layer1', 'layer1.0', 'layer1.0.conv1', 'conv2d']"),
            "layer1/0/conv1");
}

TEST(ScopeOf, SaysTheNameOfAListOnce) {
  EXPECT_EQ(ScopeOf("/layer1/layer1.0/conv1/Conv", ""), "layer1/0/conv1");
  EXPECT_EQ(ScopeOf("/features/features.3/features.3.1/block/block.0/block.0.0/Conv", ""),
            "features/3/1/block/0/0");
  // A list that is not called itself stays one name with its item.
  EXPECT_EQ(ScopeOf("/encoder/layer.0/layer.0.1/Add", ""), "encoder/layer.0/1");
  // Names that only begin alike.
  EXPECT_EQ(ScopeOf("/conv/conv1/Conv", ""), "conv/conv1");
  EXPECT_EQ(ScopeOf("/conv/conv./Conv", ""), "conv/conv.");
  EXPECT_EQ(ScopeOf("//.a/Conv", ""), "/.a");
}

}  // namespace
}  // namespace dlcost
