// A loop takes n times what its body takes, launch for launch, whatever the body is: kernels of
// every kind of nest, on GPUs, on systolic arrays and on a processor.
#include <gtest/gtest.h>

#include <functional>

#include "estimator/infer/retype.h"
#include "estimator/roofline/run.h"
#include "tests/infer/small_model.h"
#include "tests/plan/plan_model.h"

namespace dlcost {
namespace {

// What a loop hands from trip to trip, and what it does with it: "h" to "h2" of the same shape.
struct Body {
  const char* name;
  std::vector<SmallModel::Extent> state;
  std::function<void(SmallModel&)> fill;
  std::function<void(SmallModel&)> weights = [](SmallModel&) {};
};

const Body kBodies[] = {
    {"product",
     {128, 256},
     [](SmallModel& b) {
       b.Node("MatMul", {"h", "w"}, {"h2"});
     },
     [](SmallModel& m) {
       m.Weight("w", {256, 256});
     }},
    {"matrix-vector product",
     {1, 512},
     [](SmallModel& b) {
       b.Node("MatMul", {"h", "w"}, {"h2"});
     },
     [](SmallModel& m) {
       m.Weight("w", {512, 512});
     }},
    {"batched product",
     {6, 64, 64},
     [](SmallModel& b) {
       b.Node("MatMul", {"h", "h"}, {"h2"});
     }},
    {"convolution, 3x3",
     {1, 16, 28, 28},
     [](SmallModel& b) {
       SetInts(b.AddNode("Conv", {"h", "w"}, {"h2"}), "pads", {1, 1, 1, 1});
     },
     [](SmallModel& m) {
       m.Weight("w", {16, 16, 3, 3});
     }},
    {"convolution, one channel per group",
     {1, 16, 28, 28},
     [](SmallModel& b) {
       onnx::NodeProto& conv = b.AddNode("Conv", {"h", "w"}, {"h2"});
       SetInts(conv, "pads", {1, 1, 1, 1});
       SetInt(conv, "group", 16);
     },
     [](SmallModel& m) {
       m.Weight("w", {16, 1, 3, 3});
     }},
    {"attention",
     {2, 4, 64, 32},
     [](SmallModel& b) {
       b.Node("Attention", {"h", "h", "h"}, {"h2"});
     }},
    {"causal attention",
     {2, 4, 64, 32},
     [](SmallModel& b) {
       SetInt(b.AddNode("Attention", {"h", "h", "h"}, {"h2"}), "is_causal", 1);
     }},
    {"attention with its projection",
     {2, 64, 128},
     [](SmallModel& b) {
       SetInt(b.AddNodeOf("com.microsoft", "Attention", {"h", "w", "bias"}, {"h2"}), "num_heads",
              4);
     },
     [](SmallModel& m) {
       m.Weight("w", {128, 384}).Weight("bias", {384});
     }},
    {"softmax", {64, 512}, [](SmallModel& b) { b.Node("Softmax", {"h"}, {"h2"}); }},
    {"normalization",
     {64, 512},
     [](SmallModel& b) {
       b.Node("LayerNormalization", {"h", "w"}, {"h2"});
     },
     [](SmallModel& m) { m.Weight("w", {512}); }},
    {"reduction",
     {64, 512},
     [](SmallModel& b) {
       b.Node("ReduceMax", {"h"}, {"r"}).Node("Sub", {"h", "r"}, {"h2"});
     }},
    {"elementwise", {64, 512}, [](SmallModel& b) { b.Node("Gelu", {"h"}, {"h2"}); }},
    {"movement", {128, 128}, [](SmallModel& b) { b.Node("Transpose", {"h"}, {"h2"}); }},
    {"recurrent layer",
     {16, 4, 64},
     [](SmallModel& b) {
       SetInt(b.AddNode("LSTM", {"h", "w", "r"}, {"y"}), "hidden_size", 64);
       b.Node("Reshape", {"y", "shape"}, {"h2"});
     },
     [](SmallModel& m) {
       m.Weight("w", {1, 256, 64}).Weight("r", {1, 256, 64}).Ints("shape", {16, 4, 64});
     }},
};

InferredModel LoopOf(const Body& each, std::int64_t trips) {
  SmallModel body(24);
  body.Input("i", {}, onnx::TensorProto::INT64).Input("c", {}, onnx::TensorProto::BOOL);
  body.Input("h", each.state).Node("Identity", {"c"}, {"c2"});
  each.fill(body);
  body.Output("c2").Output("h2");
  SmallModel model(24);
  for (int i = 1; i < body.proto().opset_import_size(); ++i) {
    *model.proto().add_opset_import() = body.proto().opset_import(i);
  }
  model.Input("x", each.state).Ints("n", {trips});
  each.weights(model);
  SetGraph(model.AddNode("Loop", {"n", "", "x"}, {"y"}), "body", body);
  model.Output("y");
  InferredModel inferred = Infer(model.Read(), {});
  Retype(inferred, DType::kBfloat16);  // which all of the devices have rates for
  return inferred;
}

struct Total {
  Count launches, executed;
  Bytes bytes, extra;
  double bound = 0, expected = 0;
};

Total TotalOf(const InferredModel& model, const Device& device, Fusion fusion) {
  Total total;
  const Runner runner(&device, {});
  ForEachKernel(model, {.fusion = fusion}, [&](const Kernel& kernel) {
    if (kernel.repeat == Count(0)) return;
    const KernelRun run = runner.Run(kernel);
    total.launches += run.launches;
    for (const Work::Entry& entry : run.executed.entries()) {
      for (const Count count : entry.counts) total.executed += count;
    }
    total.bytes += kernel.bytes();
    if (run.execution != nullptr) {
      total.extra += run.execution->ExtraRead() + run.execution->ExtraWritten();
    }
    total.bound += run.bound.time.value();
    ASSERT_TRUE(run.expected) << kernel.label;
    total.expected += run.expected->time.expected;
  });
  return total;
}

TEST(Loop, TakesNTimesItsBodyLaunchForLaunch) {
  constexpr int kTrips = 10;
  for (const Body& body : kBodies) {
    const InferredModel once = LoopOf(body, 1), often = LoopOf(body, kTrips);
    for (const char* name : {"p4", "a100-sxm4-80gb", "h100-sxm5", "mi300x", "tpu-v5e", "gaudi2",
                             "trainium1", "xeon-platinum-8380"}) {
      const Device device = DeviceOf(name);
      for (const Fusion fusion : {Fusion::kNone, Fusion::kDefault}) {
        SCOPED_TRACE(std::string(body.name) + " on " + name + ", fusion " +
                     std::string(Name(fusion)));
        const Total one = TotalOf(once, device, fusion), all = TotalOf(often, device, fusion);
        ASSERT_GT(one.expected, 0);
        EXPECT_EQ(all.launches, one.launches * kTrips);
        EXPECT_EQ(all.executed, one.executed * kTrips);
        EXPECT_EQ(all.bytes, one.bytes * kTrips);
        EXPECT_EQ(all.extra, one.extra * kTrips);
        EXPECT_NEAR(all.bound, one.bound * kTrips, 1e-9 * all.bound);
        EXPECT_NEAR(all.expected, one.expected * kTrips, 1e-9 * all.expected);
      }
    }
  }
}

}  // namespace
}  // namespace dlcost
