#include "models/algorithms/counters.h"

#include <gtest/gtest.h>

#include "models/algorithms/convolution.h"
#include "models/algorithms/pointwise.h"
#include "models/algorithms/recurrent.h"
#include "tests/algorithms/libraries.h"

namespace dlcost {
namespace {

// Published counters, taken apart. Tolerances are relative.
void ExpectWithin(double predicted, double measured, double tolerance) {
  EXPECT_NEAR(predicted / measured, 1.0, tolerance) << predicted << " for " << measured;
}

ConvNest Square(int batch, int in, int out, int extent, int kernel, int stride, int pad) {
  const std::int64_t result = (extent + 2 * pad - kernel) / stride + 1;
  return {.batch = batch,
          .in_channels = in,
          .out_channels = out,
          .axes = {2,
                   {.in = extent,
                    .out = result,
                    .kernel = kernel,
                    .stride = stride,
                    .pad_begin = pad,
                    .pad_end = pad}}};
}

// One addition per output.
Work Bias(Count outputs) {
  Work work;
  work.Add(OpClass::kAdd, DType::kFloat32, outputs);
  return work;
}

Flops WithBias(Execution execution, Count outputs) {
  AddPointwise(execution, "bias", TermKind::kEpilogue, Bias(outputs));
  return ReadCounters(execution).flop_count_sp;
}

// AlexNet at batch 1 on a Tesla P4, nvprof flop_count_sp, cuDNN 6.
TEST(AlexNetOnP4, ImplicitGemmLayersToTheDigit) {
  const ConvOptions options{.tile = kPascal.conv_vector[0]};
  const ConvNest conv1 = Square(1, 3, 64, 227, 11, 4, 0);
  EXPECT_EQ(WithBias(ImplicitGemmConv(conv1, options, kPascal), OutputElements(conv1)),
            Flops(143717440));
  const ConvNest conv2 = Square(1, 64, 192, 27, 5, 1, 2);
  EXPECT_EQ(WithBias(ImplicitGemmConv(conv2, options, kPascal), OutputElements(conv2)),
            Flops(472294080));
}

TEST(AlexNetOnP4, EveryPartOfConv1IsNamed) {
  const Execution conv1 =
      ImplicitGemmConv(Square(1, 3, 64, 227, 11, 4, 0), {.tile = kPascal.conv_vector[0]}, kPascal);
  ASSERT_EQ(conv1.stages.size(), 1U);
  const std::vector<Term>& terms = conv1.stages[0].terms;
  ASSERT_EQ(terms.size(), 4U);
  EXPECT_EQ(terms[0].what, "products 3025 x 64 x 363");
  EXPECT_EQ(terms[0].instructions.flops(), Flops(140553600));
  EXPECT_EQ(terms[1].what, "row padding 3025 -> 3072");
  EXPECT_EQ(terms[1].instructions.flops(), Flops(47LL * 64 * 363 * 2));
  EXPECT_EQ(terms[2].what, "k padding 363 -> 364");
  EXPECT_EQ(terms[2].instructions.flops(), Flops(3072LL * 64 * 2));
  EXPECT_EQ(terms[3].what, "epilogue of 196608 outputs");
  EXPECT_EQ(terms[3].instructions.flops(), Flops(196608LL * 2));
}

TEST(AlexNetOnP4, WinogradLayersFromFirstPrinciples) {
  struct Layer {
    int in, out;
    double measured;
  };
  for (const Layer& layer :
       {Layer{192, 384, 162168191}, Layer{384, 256, 215558401}, Layer{256, 256, 143927547}}) {
    const ConvNest nest = Square(1, layer.in, layer.out, 13, 3, 1, 1);
    const Execution winograd = FusedWinogradConv(nest, 2, {}, kPascal);
    ExpectWithin(WithBias(winograd, OutputElements(nest)).AsDouble(), layer.measured, 0.05);
    // Padding 7x7 tiles to 8x8 is what makes it more than two thirds of that.
    const Flops padding = winograd.Of(TermKind::kPadding).flops();
    EXPECT_EQ(padding, Flops(Count(2) * 15 * 16 * layer.in * layer.out));
  }
}

TEST(AlexNetOnP4, AffineLayersAreMatrixVectorProducts) {
  const auto affine = [](Count k, Count m) {
    return WithBias(MatrixVector({.m = 1, .n = m, .k = k}, DType::kFloat32, kPascal), m);
  };
  EXPECT_EQ(affine(9216, 4096), Flops(76988416));
  EXPECT_EQ(affine(4096, 4096), Flops(34226176));
  ExpectWithin(affine(4096, 1000).AsDouble(), 8522048, 0.03);
}

// nvprof metrics of cuBLAS' batched SGEMM on a GTX 1080 Ti: ten products of 128^3, accumulating.
TEST(BatchedSgemm, CountsThreePerOutputBesideTheProducts) {
  const GemmNest nest{.batch = 10, .m = 128, .n = 128, .k = 128};
  const CounterReading reading = ReadCounters(
      TiledGemm(nest, {.tile = {.m = 64, .n = 64, .k = 8}, .accumulate = true}, kPascal));
  EXPECT_EQ(reading.flop_count_sp, Flops(42434560));
  EXPECT_EQ(reading.ffma, Count(21135360));
  EXPECT_EQ(reading.fmul, Count(163840));
}

// LSTM language model, hidden = embedding = 1024, batch 128, vocabulary 10,000: SGEMM FLOPs per
// step and sample, for 1, 2 and 4 layers.
TEST(PennTreebankLstm, SgemmWorkPerStepAndSample) {
  const TileShape tile = kPascal.gemm_vector[0];
  const Execution layer = RecurrentSteps(
      {.steps = 1, .batch = 128, .input = 1024, .hidden = 1024, .gates = 4, .cell = "LSTM"},
      {.tile = tile}, kPascal);
  const Execution projection =
      TiledGemm({.m = 128, .n = 10000, .k = 1024}, {.tile = tile}, kPascal);
  const auto per_sample = [&](int layers) {
    return (layer.flops() * Count(layers) + projection.flops()).AsDouble() / 128;
  };
  ExpectWithin(per_sample(1), 3.75e7, 0.005);
  ExpectWithin(per_sample(2), 5.43e7, 0.005);
  ExpectWithin(per_sample(4), 8.78e7, 0.005);
  // The slope is 16 h^2 and one scale per gate; the baseline is the projection to 10,112 words.
  EXPECT_EQ(layer.flops(), Flops(128LL * (16 * 1024 * 1024 + 4 * 1024)));
  EXPECT_EQ(projection.flops(), Flops(128LL * 10112 * (2 * 1024 + 1)));
}

// AlexNet at batch 128 on an A100: instruction counters per kernel.
TEST(AlexNetOnA100, FirstConvolutionPadsItsReducedExtent) {
  const Execution conv1 = ImplicitGemmConv(Square(128, 3, 64, 224, 11, 4, 2),
                                           {.tile = kAmpere.conv_vector[0]}, kAmpere);
  const CounterReading reading = ReadCounters(conv1);
  EXPECT_EQ(reading.ffma, Count(9119334400));  // 363 -> 368
  EXPECT_EQ(reading.fmul, Count(24780800));
  EXPECT_EQ(reading.fadd, Count(0));
}

TEST(AlexNetOnA100, SecondConvolutionThroughFourier) {
  const Execution conv2 = FftConv(Square(128, 64, 192, 27, 5, 1, 2), 32, {}, kAmpere);
  ASSERT_EQ(conv2.stages.size(), 4U);
  const CounterReading product = ReadCounters(conv2.stages[2]);
  EXPECT_EQ(product.ffma, Count(2593652736));
  EXPECT_EQ(product.fmul, Count(26738688));
  EXPECT_EQ(product.fadd, Count(71860224));
  // The transforms by the textbook's count: filter, input, inverse.
  ExpectWithin(ReadCounters(conv2.stages[0]).flop_count_sp.AsDouble(), 234946560, 0.25);
  ExpectWithin(ReadCounters(conv2.stages[1]).flop_count_sp.AsDouble(), 184942592, 0.25);
  ExpectWithin(ReadCounters(conv2.stages[3]).flop_count_sp.AsDouble(), 519462912, 0.25);
  ExpectWithin(ReadCounters(conv2).flop_count_sp.AsDouble(), 6225256448, 0.03);
}

TEST(AlexNetOnA100, Tf32ConvolutionsAreInvisibleToInstructionCounters) {
  const Execution conv3 = ImplicitGemmConv(
      Square(128, 192, 384, 13, 3, 1, 1),
      {.pipe = Pipe::kTensor, .tile = kAmpere.conv_tensor[2], .convert_layout = true}, kAmpere);
  ASSERT_EQ(conv3.stages.size(), 3U);
  EXPECT_EQ(ReadCounters(conv3.stages[0]).fmul, Count(4153344));  // input to channels last
  EXPECT_EQ(ReadCounters(conv3.stages[1]).fmul, Count(663552));   // weight
  const CounterReading product = ReadCounters(conv3.stages[2]);
  EXPECT_EQ(product.ffma, Count(0));
  EXPECT_EQ(product.tensor_flops, Flops(2LL * 21632 * 384 * 1728));
  EXPECT_EQ(TensorInstructions(product, kAmpere.tensor_flops_per_instruction),
            Count(21632LL * 384 * 1728 / 1024));
}

TEST(AlexNetOnA100, AffineLayersInSlicesAndSplits) {
  const TileShape tile = kAmpere.gemm_vector[0];
  const auto affine = [&](Count k, Count n, Count split) {
    return ReadCounters(
        TiledGemm({.m = 128, .n = n, .k = k}, {.tile = tile, .split_k = split}, kAmpere));
  };
  const CounterReading fc6 = affine(9216, 4096, 1);
  EXPECT_EQ(fc6.ffma, Count(4831838208));
  EXPECT_EQ(fc6.fmul, Count(2097152));
  EXPECT_EQ(fc6.fadd, Count(1572864));
  const CounterReading fc8 = affine(4096, 1000, 6);
  EXPECT_EQ(fc8.ffma, Count(554303488));
  EXPECT_EQ(fc8.fmul, Count(3145728));
  EXPECT_EQ(fc8.fadd, Count(2359296));
}

}  // namespace
}  // namespace dlcost
