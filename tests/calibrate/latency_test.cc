#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "estimator/calibrate/accuracy.h"
#include "estimator/calibrate/calibrate.h"
#include "estimator/calibrate/latency_case.h"
#include "estimator/calibrate/latency_table.h"
#include "estimator/calibrate/recorded_kernel.h"
#include "estimator/core/error.h"
#include "estimator/hardware/database.h"
#include "estimator/hardware/device.h"

namespace dlcost {
namespace {

using testing::HasSubstr;

std::string WriteTable(const std::string& name, const std::string& text) {
  const std::string path = testing::TempDir() + name;
  std::ofstream(path) << text;
  return path;
}

Device A100() { return DeviceDatabase({DLCOST_SOURCE_DIR "/hw_specs"}).Find("a100-sxm4-80gb"); }

TEST(LatencyTable, TheHeaderTellsTheKind) {
  const LatencyTable table = ReadLatencyTable(WriteTable(
      "gemm_kind.csv",
      "device,dtype,batch,m,n,k,latency_us,timing,source\nx,bf16,1,2,3,4,5.5,graph,s\n"));
  EXPECT_EQ(table.kind, LatencyKind::kGemm);
  EXPECT_EQ(table.name, "gemm_kind");
  ASSERT_EQ(table.rows.size(), 1u);
  EXPECT_EQ(table.rows[0].line, 2);
  EXPECT_EQ(table.rows[0].Size("k"), 4);
  EXPECT_EQ(table.rows[0].Number("latency_us"), 5.5);
}

TEST(LatencyTable, WrongFilesAreErrors) {
  EXPECT_THROW(ReadLatencyTable(WriteTable("empty.csv", "")), Error);
  EXPECT_THROW(ReadLatencyTable(WriteTable("other.csv", "name,calls\na,1\n")), Error);
  const LatencyTable table = ReadLatencyTable(
      WriteTable("bad.csv", "device,dtype,m,n,k,latency_us\nx,bf16,-2,3.5,4e20,abc\n"));
  EXPECT_THROW(table.rows[0].Size("m"), Error);
  EXPECT_THROW(table.rows[0].Size("n"), Error);
  EXPECT_THROW(table.rows[0].Size("k"), Error);
  EXPECT_THROW(table.rows[0].Number("latency_us"), Error);
  EXPECT_THROW(table.rows[0].Text("batch"), Error);
}

LatencyRow Row(std::map<std::string, std::string> fields) { return {.line = 2, .fields = fields}; }

TEST(LatencyCase, BoundsOfAProductByHand) {
  std::string why;
  const auto c = MakeCase(LatencyKind::kGemm,
                          Row({{"device", "a100"},
                               {"dtype", "bf16"},
                               {"m", "4096"},
                               {"n", "4096"},
                               {"k", "4096"},
                               {"latency_us", "600"},
                               {"timing", "graph"}}),
                          A100(), &why);
  ASSERT_TRUE(c.has_value()) << why;
  EXPECT_DOUBLE_EQ(c->naive, 2.0 * 4096 * 4096 * 4096 / 312e12);
  EXPECT_DOUBLE_EQ(c->bound, c->naive);
  EXPECT_EQ(c->options.launch, Launch::kGraph);
  EXPECT_EQ(c->type, "gemm");
  EXPECT_EQ(c->size, "0.1-1ms");
}

// A product of two square matrices, called in a loop.
LatencyCase Square(const std::string& size, const Device& device, const std::string& source,
                   const std::string& dtype) {
  std::string why;
  const auto c = MakeCase(LatencyKind::kGemm,
                          Row({{"device", device.id},
                               {"dtype", dtype},
                               {"m", size},
                               {"n", size},
                               {"k", size},
                               {"latency_us", "3000"},
                               {"timing", "graph"},
                               {"source", source}}),
                          device, &why);
  if (!c) throw Error("{}", why);
  return *c;
}

// A T4's 70 W carry 24.1 TFLOP/s at 2.9 pJ each. DeepBench's halves are zeros, which leave the
// clock alone; its floats are numbers.
TEST(LatencyCase, ZerosTakeNoPower) {
  const Device t4 = DeviceDatabase({DLCOST_SOURCE_DIR "/hw_specs"}).Find("t4");
  const auto expected = [&](const std::string& source, const std::string& dtype) {
    return ExpectedSeconds(MakeTimingDevice(t4), Square("4096", t4, source, dtype));
  };
  const double sustained = 2.0 * 4096 * 4096 * 4096 / (70 / 2.9e-12);
  EXPECT_NEAR(expected("", "fp16"), sustained, 0.01 * sustained);
  EXPECT_NEAR(expected("deepbench", "fp16"), sustained * 24 / 43, 0.1 * sustained);
  EXPECT_EQ(expected("deepbench", "fp32"), expected("torch-mm", "fp32"));
}

// A GeForce multiplies at half of its chip's rate where it adds up in 32 bits, and operands come as
// fast as for the whole: squares of 8192 reach what they can (published: 50 of 54 TFLOP/s on an RTX
// 2080 Ti, 0.95 and more of the peak on an RTX 4090), but integers, which are not halved.
TEST(LatencyCase, HalvedRatesAreReached) {
  const DeviceDatabase devices({DLCOST_SOURCE_DIR "/hw_specs"});
  const auto over_bound = [&](const std::string& name, const std::string& dtype) {
    const Device device = devices.Find(name);
    const LatencyCase square = Square("8192", device, "torch-mm", dtype);
    return ExpectedSeconds(MakeTimingDevice(device), square) / square.bound;
  };
  EXPECT_LT(over_bound("rtx-2080-ti", "fp16"), 1.1);
  EXPECT_LT(over_bound("rtx-4090", "fp16"), 1.15);
  EXPECT_LT(over_bound("rtx-4090", "fp8"), 1.15);
  EXPECT_GT(over_bound("rtx-4090", "int8"), 1.2);
}

// 3x3 with stride 2 over 8 x 8, padded by 1: 4 x 4 positions, one row left over at the end.
TEST(LatencyCase, ConvolutionsAreTimedInTheirDirection) {
  std::string why;
  const auto nest = [&](const char* direction) -> std::optional<ConvNest> {
    const auto c = MakeCase(LatencyKind::kConv,
                            Row({{"device", "a100"},
                                 {"dtype", "fp32"},
                                 {"direction", direction},
                                 {"n", "2"},
                                 {"c", "16"},
                                 {"h", "8"},
                                 {"w", "8"},
                                 {"k", "32"},
                                 {"r", "3"},
                                 {"s", "3"},
                                 {"stride_h", "2"},
                                 {"stride_w", "2"},
                                 {"pad_h", "1"},
                                 {"pad_w", "1"},
                                 {"latency_us", "600"}}),
                            A100(), &why);
    if (!c) return std::nullopt;
    return std::get<ConvNest>(c->kernels.back().nest);
  };
  const auto forward = nest("forward"), data = nest("backward_data"),
             weights = nest("backward_weight");
  ASSERT_TRUE(forward && data && weights) << why;
  EXPECT_FALSE(forward->transposed || forward->of_weights);
  EXPECT_TRUE(data->transposed);
  EXPECT_EQ(data->in_channels, Count(32));
  EXPECT_EQ(data->Product(&ConvAxis::out), Count(64));
  EXPECT_TRUE(weights->of_weights);
  EXPECT_EQ(weights->in_channels, Count(16));
  for (const auto& each : {forward, data, weights}) {
    EXPECT_EQ(MacsOf(*each), Count(2LL * 16 * 32 * 16 * 9));
  }
  EXPECT_FALSE(nest("sideways"));
  EXPECT_THAT(why, HasSubstr("unknown direction 'sideways'"));
}

TEST(LatencyCase, TheWarmBoundSubtractsTheCache) {
  std::string why;
  const auto c = MakeCase(LatencyKind::kStream,
                          Row({{"device", "a100"},
                               {"dtype", "fp32"},
                               {"op", "add"},
                               {"rows", "1048576"},
                               {"cols", "16"},
                               {"latency_us", "600"}}),
                          A100(), &why);
  ASSERT_TRUE(c.has_value()) << why;
  EXPECT_DOUBLE_EQ(c->naive, 3.0 * 16777216 * 4 / 2039e9);
  EXPECT_DOUBLE_EQ(c->bound, (3.0 * 16777216 * 4 - 40 * 1048576) / 2039e9);
}

// Eight heads of 64 for 256 queries and keys: two products there, five back; a form says whose
// kernels.
TEST(LatencyCase, AttentionGoesBothWaysInKernelsThatTheRowNames) {
  std::string why;
  const auto at = [&](const char* direction, const char* form, const char* causal) {
    return MakeCase(LatencyKind::kAttention,
                    Row({{"dtype", "fp16"},
                         {"phase", "encoder"},
                         {"causal", causal},
                         {"batch", "2"},
                         {"q_len", "256"},
                         {"kv_len", "256"},
                         {"heads", "8"},
                         {"kv_heads", "8"},
                         {"head_dim", "64"},
                         {"direction", direction},
                         {"form", form},
                         {"latency_us", "100"}}),
                    A100(), &why);
  };
  const auto there = at("forward", "flash-2", "0"), back = at("backward", "flash-2", "1");
  ASSERT_TRUE(there && back) << why;
  const std::int64_t product = 2LL * 8 * 256 * 256 * 64;
  EXPECT_EQ(there->kernels.back().work.macs(), Macs(Count(2 * product)));
  EXPECT_EQ(back->kernels.back().work.macs(), Macs(Count(5 * product)));
  const auto* nest = std::get_if<AttentionNest>(&back->kernels.back().nest);
  ASSERT_NE(nest, nullptr);
  EXPECT_TRUE(nest->causal && nest->backward);
  EXPECT_EQ(there->options.attention, AttentionForm::kFlash2);
  EXPECT_FALSE(at("forward", "fast", "0"));
  EXPECT_THAT(why, HasSubstr("unknown form 'fast'"));
  EXPECT_FALSE(at("sideways", "", "0"));
  EXPECT_THAT(why, HasSubstr("unknown direction 'sideways'"));
}

TEST(LatencyCase, WhatItCannotCostItSkipsAndSaysWhy) {
  std::string why;
  EXPECT_FALSE(MakeCase(
      LatencyKind::kStream,
      Row({{"dtype", "fp32"}, {"op", "fancy"}, {"rows", "1"}, {"cols", "1"}, {"latency_us", "1"}}),
      A100(), &why));
  EXPECT_EQ(why, "unknown op 'fancy'");
  EXPECT_FALSE(
      MakeCase(LatencyKind::kGemm, Row({{"dtype", "int3"}, {"latency_us", "1"}}), A100(), &why));
  EXPECT_THAT(why, HasSubstr("int3"));
}

// Rates that others published (docs/timing.md): a bound that a board beats is none.
TEST(PublishedProducts, NoneBeatsItsBound) {
  const DeviceDatabase database({DLCOST_SOURCE_DIR "/hw_specs"});
  for (const char* name : {"matrix_products.csv", "squares.csv", "layers.csv", "attention.csv",
                           "narrow_weights.csv"}) {
    const LatencyTable table =
        ReadLatencyTable(std::string(DLCOST_SOURCE_DIR "/bench/published/") + name);
    ASSERT_FALSE(table.rows.empty());
    for (const LatencyRow& row : table.rows) {
      std::string why;
      const auto c = MakeCase(table.kind, row, database.Find(row.Text("device")), &why);
      ASSERT_TRUE(c.has_value()) << table.Where(row) << ": " << why;
      EXPECT_GE(c->measured, c->bound) << table.Where(row);
    }
  }
}

TEST(Accuracy, ByHand) {
  const Accuracy a = Summarize(
      {{.measured = 10, .bound = 5, .naive = 5, .expected = 10.5, .low = 9, .high = 12},
       {.measured = 10, .bound = 20, .naive = 20, .expected = 20, .low = 15, .high = 25}});
  EXPECT_EQ(a.rows, 2u);
  EXPECT_EQ(a.violations, 1u);
  EXPECT_DOUBLE_EQ(a.ratio_min, 0.5);
  EXPECT_DOUBLE_EQ(a.ratio_median, 1.25);
  EXPECT_NEAR(a.mape, 0.525, 1e-12);
  EXPECT_NEAR(a.median_ape, 0.525, 1e-12);
  EXPECT_NEAR(a.bias, 0.525, 1e-12);
  EXPECT_NEAR(a.within_10, 0.5, 1e-12);
  EXPECT_NEAR(a.range_coverage, 0.5, 1e-12);
  EXPECT_NEAR(a.naive_mape, 0.75, 1e-12);
  EXPECT_EQ(Summarize({}).rows, 0u);
}

TEST(Accuracy, Quantiles) {
  EXPECT_DOUBLE_EQ(Quantile({4, 1, 3, 2}, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(Quantile({4, 1, 3, 2}, 1), 4);
  EXPECT_EQ(Quantile({}, 0.5), 0);
}

// Products whose times the model made with the constants of `truth`.
std::vector<CalibrationRow> RowsMadeBy(const TimingDevice& truth, const Device& device,
                                       const TimingDevice& timing) {
  std::vector<CalibrationRow> rows;
  for (const int m : {1, 16, 128, 512, 4096}) {
    for (const int n : {256, 1024, 4096, 12288}) {
      for (const int k : {128, 1024, 8192}) {
        std::string why;
        auto c = MakeCase(LatencyKind::kGemm,
                          Row({{"dtype", "bf16"},
                               {"m", std::to_string(m)},
                               {"n", std::to_string(n)},
                               {"k", std::to_string(k)},
                               {"latency_us", "1"},
                               {"timing", "graph"}}),
                          device, &why);
        if (!c) throw Error("{}", why);
        c->measured = ExpectedSeconds(truth, *c);
        rows.push_back({*c, &timing});
      }
    }
  }
  return rows;
}

// With other constants and an outlier, the rows give those constants back.
TEST(Calibrate, FindsTheConstantsThatMadeTheRows) {
  const Device device = A100();
  TimingDevice timing = MakeTimingDevice(device);
  timing.power = 0;  // no limit hides the efficiency
  TimingDevice truth = timing;
  truth.constants[Constant::kLaunchGraph] = 6e-6;
  truth.constants[Constant::kTensorEfficiency] = 0.6;
  truth.constants[Constant::kMemorySustained] = 0.7;
  std::vector<CalibrationRow> rows = RowsMadeBy(truth, device, timing);
  rows[7].latency.measured *= 5;
  const Calibration result = Calibrate(rows, rows, timing.constants, {}, {});
  for (const FittedConstant& c : result.refused) {
    ADD_FAILURE() << Def(c.constant).name << " was refused at " << c.value;
  }
  EXPECT_NEAR(result.values[Constant::kLaunchGraph], 6e-6, 0.3e-6);
  EXPECT_NEAR(result.values[Constant::kTensorEfficiency], 0.6, 0.03);
  EXPECT_NEAR(result.values[Constant::kMemorySustained], 0.7, 0.04);
  EXPECT_LT(result.held_out.median_ape, 0.02);
  EXPECT_GT(result.before.median_ape, 0.1);
}

// A launch of 90 us is none: the constant stands for up to 50, and does not take what it is not.
TEST(Calibrate, RefusesWhatEndsAtALimit) {
  const Device device = A100();
  const TimingDevice timing = MakeTimingDevice(device);
  TimingDevice truth = timing;
  truth.constants[Constant::kLaunchGraph] = 90e-6;
  const std::vector<CalibrationRow> rows = RowsMadeBy(truth, device, timing);
  const Calibration result = Calibrate(rows, rows, timing.constants, {}, {});
  const auto refused =
      std::find_if(result.refused.begin(), result.refused.end(),
                   [](const auto& c) { return c.constant == Constant::kLaunchGraph; });
  ASSERT_NE(refused, result.refused.end());
  EXPECT_NEAR(refused->value, Def(Constant::kLaunchGraph).high, 1e-9);
  EXPECT_EQ(result.values[Constant::kLaunchGraph], timing.constants[Constant::kLaunchGraph]);
  for (const FittedConstant& c : result.constants) {
    EXPECT_NE(c.constant, Constant::kLaunchGraph);
    EXPECT_TRUE(c.value == c.start || c.value < Def(c.constant).high) << Def(c.constant).name;
  }
}

// The harness's bound is that of a report on the same operator.
TEST(LatencyCase, IsTheKernelOfAReport) {
  std::string why;
  const Device device = A100();
  const auto c = MakeCase(LatencyKind::kStream,
                          Row({{"dtype", "fp32"},
                               {"op", "layernorm"},
                               {"rows", "64"},
                               {"cols", "1024"},
                               {"latency_us", "10"}}),
                          device, &why);
  ASSERT_TRUE(c.has_value()) << why;
  ASSERT_EQ(c->kernels.size(), 1u);
  // Input and result, and the scale and bias of a row.
  EXPECT_EQ(c->kernels[0].bytes(), Bytes(4 * (2 * 64 * 1024 + 2 * 1024)));
  EXPECT_GT(c->kernels[0].work.Of(OpClass::kSqrt), Count(0));
  EXPECT_TRUE(std::holds_alternative<ReduceNest>(c->kernels[0].nest));
}

TEST(Calibrate, TooFewRowsAreAnError) {
  EXPECT_THROW(Calibrate({}, {}, TimingConstants(), {}, {}), Error);
}

TEST(Calibrate, TheSplitIsStableAndAboutAsLargeAsAsked) {
  int fitted = 0;
  for (int i = 0; i < 10000; ++i) {
    LatencyRow row = Row({{"device", "x"}, {"m", std::to_string(i)}, {"latency_us", "1"}});
    const bool first = IsFitRow(row, 0.4);
    row.fields["latency_us"] = "2";
    EXPECT_EQ(IsFitRow(row, 0.4), first);
    fitted += first ? 1 : 0;
  }
  EXPECT_NEAR(fitted, 4000, 150);
}

std::string Recorded(LatencyKind kind, std::map<std::string, std::string> fields) {
  const auto recorded = RecordedBy(kind, Row(std::move(fields)));
  return recorded ? recorded->Text() : "none";
}

TEST(RecordedKernel, TheNameTellsAlgorithmAndTile) {
  using enum LatencyKind;
  EXPECT_EQ(Recorded(kGemm, {{"kernel", "volta_sgemm_128x64_tn"}}), "64x128");
  EXPECT_EQ(Recorded(kGemm, {{"kernel", "ampere_sgemm_64x32_sliced1x4_tn"}}), "32x64 sliced");
  EXPECT_EQ(Recorded(kGemm, {{"kernel", "sm80_xmma_gemm_f32f32_tilesize128x64x8_stage3_ffma_a4"}}),
            "128x64");
  EXPECT_EQ(Recorded(kConv, {{"kernel", "maxwell_sgemm_32x128_nn"}, {"algorithm", "winograd"}}),
            "winograd_nonfused 32x128");
  EXPECT_EQ(Recorded(kConv, {{"kernel", "volta_scudnn_128x32_relu_small_nn_v1"}}),
            "implicit_gemm 128x32");
  EXPECT_EQ(Recorded(kConv, {{"kernel", "void implicit_convolve_sgemm<float, 5, 5>(int)"}}),
            "implicit_gemm");
  EXPECT_EQ(Recorded(kGemm, {{"kernel", ""}}), "none");
  EXPECT_EQ(Recorded(kGemm, {{"kernel", "vectorized_elementwise_kernel"}}), "none");
}

TEST(RecordedKernel, TheGridTellsPartsOfKWhereThereIsNoBatch) {
  const auto parts = [](const char* batch) {
    return RecordedBy(
               LatencyKind::kGemm,
               Row({{"kernel", "volta_sgemm_128x64_tn"}, {"grid", "20x16x3"}, {"batch", batch}}))
        ->parts;
  };
  EXPECT_EQ(parts("1"), Count(3));
  EXPECT_EQ(parts("8"), Count(0));
}

TEST(RecordedKernel, WhatTheNameDoesNotTellIsNotHeldAgainstIt) {
  const RecordedKernel named{
      .algorithm = Algorithm::kImplicitGemm, .rows = 128, .columns = 64, .parts = 1};
  RecordedKernel recorded{.algorithm = Algorithm::kImplicitGemm};
  EXPECT_TRUE(IsSameKernel(recorded, named));
  recorded.rows = 128, recorded.columns = 64;
  EXPECT_TRUE(IsSameKernel(recorded, named));
  recorded.sliced = true;
  EXPECT_FALSE(IsSameKernel(recorded, named));
  recorded.sliced = false, recorded.columns = 32;
  EXPECT_FALSE(IsSameKernel(recorded, named));
}

}  // namespace
}  // namespace dlcost
