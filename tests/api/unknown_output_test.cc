// What a training step of a model says whose output the data sizes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dlcost/dlcost.h"
#include "tests/infer/small_model.h"

namespace dlcost::api {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(UnknownOutput, SaysWhatWouldTellItsShape) {
  SmallModel file;
  file.Input("n", {}, onnx::TensorProto::INT64).Weight("w", {1, 4});
  file.Scalar("zero", 0).Scalar("one", 1).Node("Range", {"zero", "n", "one"}, {"r"});
  SetInt(file.AddNode("Cast", {"r"}, {"f"}), "to", onnx::TensorProto::FLOAT);
  file.Ints("axis", {1}).Node("Unsqueeze", {"f", "axis"}, {"column"});
  file.Node("MatMul", {"column", "w"}, {"y"}).Output("y");
  const Model model = Model::FromBytes(file.proto().SerializeAsString(), "ranged");
  const Options options{.optimizer = "sgd"};
  const auto says = ThrowsMessage<Error>(
      HasSubstr("the shape of output 'y' is not known; it follows from the value of 'n': bind it "
                "with --value n="));
  EXPECT_THAT([&] { TrainingStep(model, {}, options); }, says);
  EXPECT_THAT([&] { Count(model, {}, {}, options); }, says);
}

}  // namespace
}  // namespace dlcost::api
