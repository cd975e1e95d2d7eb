#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "estimator/roofline/choose_conv.h"
#include "estimator/roofline/run.h"
#include "models/algorithms/convolution.h"
#include "models/algorithms/counters.h"
#include "tests/plan/plan_model.h"

namespace dlcost {
namespace {

// The kernels of a model that are products, as a device runs them.
std::vector<KernelRun> Products(const InferredModel& model, const Device& device,
                                const RunOptions& options = {}) {
  const Runner runner(&device, options);
  std::vector<KernelRun> products;
  ForEachKernel(model, {.fusion = Fusion::kDefault}, [&](const Kernel& kernel) {
    KernelRun run = runner.Run(kernel);
    if (run.execution != nullptr) products.push_back(std::move(run));
  });
  return products;
}

// The published table: AlexNet at batch 1, nvprof flop_count_sp on a Tesla P4. Here from the model
// file to the counter, with everything chosen.
TEST(AlexNet, CountersOfEveryLayerOnP4) {
  const InferredModel model =
      InferFile(std::string(DLCOST_SOURCE_DIR) + "/models/networks/alexnet.onnx");
  const Device p4 = DeviceOf("p4");
  const std::vector<KernelRun> layers = Products(model, p4);
  struct Expected {
    Algorithm algorithm;
    double measured, tolerance;
  };
  const std::vector<Expected> expected = {
      {Algorithm::kImplicitGemm, 143717440, 0.001}, {Algorithm::kImplicitGemm, 472294080, 0.001},
      {Algorithm::kWinograd, 162168191, 0.05},      {Algorithm::kWinograd, 215558401, 0.05},
      {Algorithm::kWinograd, 143927547, 0.05},      {Algorithm::kMatrixVector, 76988416, 0.001},
      {Algorithm::kMatrixVector, 34226176, 0.001},  {Algorithm::kMatrixVector, 8522048, 0.03}};
  ASSERT_EQ(layers.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const Execution& layer = *layers[i].execution;
    EXPECT_EQ(layer.algorithm, expected[i].algorithm) << i;
    const double counter = ReadCounters(layer).flop_count_sp.AsDouble();
    EXPECT_NEAR(counter / expected[i].measured, 1.0, expected[i].tolerance) << layer.name;
  }
}

// At batch 128 on an A100 with tf32 convolutions: the first stays on vector units (three channels),
// the second goes through Fourier, the others are invisible to instruction counters.
TEST(AlexNet, ChoicesOnA100) {
  const InferredModel model =
      InferFile(std::string(DLCOST_SOURCE_DIR) + "/models/networks/alexnet.onnx", {}, 128);
  const Device a100 = DeviceOf("a100-sxm4-80gb");
  const std::vector<KernelRun> layers = Products(model, a100, {.math = MathMode::kTf32});
  ASSERT_EQ(layers.size(), 8U);
  EXPECT_EQ(layers[0].execution->algorithm, Algorithm::kImplicitGemm);
  EXPECT_EQ(layers[0].execution->On(Pipe::kTensor).fma, Count(0));
  EXPECT_EQ(layers[1].execution->algorithm, Algorithm::kFft);
  for (int i = 2; i < 5; ++i) {
    const CounterReading reading = ReadCounters(*layers[static_cast<std::size_t>(i)].execution);
    EXPECT_EQ(reading.ffma, Count(0));
    EXPECT_GT(reading.tensor_flops, Flops(0));
  }
}

// A convolution of halves on 8 images of 56 x 56, `taps` by `taps` with 64 channels.
Kernel HalfConv(std::int64_t taps, Count groups = 1, Count channels = 64) {
  ConvNest nest{.batch = 8, .groups = groups, .in_channels = channels, .out_channels = channels};
  for (int i = 0; i < 2; ++i) {
    nest.axes.push_back({.in = 56, .out = 56, .kernel = taps, .stride = 1, .pad_begin = taps / 2});
  }
  return Alone(nest, DType::kFloat16);
}

// Image, filter and result of a 3x3 filter, each read and written once more; nothing of a 1x1
// filter forward, nothing where data lie as kernels want them, nothing on a V100.
TEST(HalfConvolution, ConvertsWhatLiesChannelsFirst) {
  const Bytes image(2LL * 8 * 64 * 56 * 56), filter(2LL * 64 * 64 * 9);
  const auto extra = [](const char* gpu, std::int64_t taps, RunOptions options = {}) {
    const Device device = DeviceOf(gpu);
    return Runner(&device, options).Run(HalfConv(taps)).execution->ExtraRead();
  };
  EXPECT_EQ(extra("rtx-3090", 3), image + filter + image);
  EXPECT_EQ(extra("rtx-3090", 3, {.converts = false}), Bytes(0));
  EXPECT_EQ(extra("rtx-3090", 1), Bytes(0));
  EXPECT_EQ(extra("v100", 3), Bytes(0));
}

// Its tiles are those of the product alone, each of which walks all of k.
TEST(HalfConvolution, RunsTheSameTilesWhereItConverts) {
  const Device device = DeviceOf("a100");
  ConvNest nest{.in_channels = 512, .out_channels = 512};
  for (int i = 0; i < 2; ++i) {
    nest.axes.push_back({.in = 7, .out = 7, .kernel = 3, .stride = 1, .pad_begin = 1});
  }
  const Kernel kernel = Alone(nest, DType::kFloat16);
  const auto grid = [&](bool converts) {
    return *Runner(&device, {.converts = converts}).Run(kernel).execution->Grid();
  };
  EXPECT_EQ(grid(false).split_k, Count(1));
  EXPECT_EQ(grid(true).split_k, Count(1));
  EXPECT_EQ(grid(true).tile_n, grid(false).tile_n);
}

// Channels first each tap of a depthwise kernel is ten instructions of a lane, eight in float32, at
// the 19.5 TFLOP/s of an A100's float32 lanes (two FLOP each), of the gradient of its weights 25
// more; channels last it only streams.
TEST(DepthwiseTime, TapsChannelsFirst) {
  const Device device = DeviceOf("a100");
  const auto seconds = [&](DType type, bool converts, bool of_weights = false) {
    ConvNest nest{.batch = 64, .groups = 512, .in_channels = 512, .out_channels = 512};
    nest.of_weights = of_weights;
    for (int i = 0; i < 2; ++i) {
      nest.axes.push_back({.in = 56, .out = 56, .kernel = 5, .stride = 1, .pad_begin = 2});
    }
    return Runner(&device, {.converts = converts}).Run(Alone(nest, type)).expected->units;
  };
  const double macs = 64.0 * 512 * 56 * 56 * 25;
  EXPECT_NEAR(seconds(DType::kFloat16, true), 10 * 2 * macs / 19.5e12, 1e-9);
  EXPECT_NEAR(seconds(DType::kFloat32, true), 8 * 2 * macs / 19.5e12, 1e-9);
  EXPECT_NEAR(seconds(DType::kFloat32, true, true), 33 * 2 * macs / 19.5e12, 1e-9);
  EXPECT_LT(seconds(DType::kFloat16, false), 2 * macs / 19.5e12);
}

// Rows of 1024 halves. The way back of a layer normalization adds up scale and shift in a kernel of
// its own, which reads data and gradient once more; that of channels has their sums as it goes.
TEST(NormGradientTime, SumsOverAllRowsAreAKernelOfTheirOwn) {
  const Device device = DeviceOf("a100");
  const auto run = [&](bool across) {
    const ReduceNest nest{.outer = 65536, .reduce = 1024, .backward = true, .across = across};
    Kernel kernel = Alone(nest, DType::kFloat16);
    kernel.bytes_read = Bytes(2LL * 2 * 65536 * 1024);
    kernel.bytes_written = Bytes(2LL * 65536 * 1024);
    return Runner(&device, {}).Run(kernel);
  };
  const KernelRun alone = run(false), summed = run(true);
  const Bytes rows = alone.execution->ExtraRead();  // few: the cache keeps what units work on
  EXPECT_LT(rows, Bytes(2LL * 65536 * 1024 / 4));
  EXPECT_EQ(summed.execution->ExtraRead() - rows, Bytes(2LL * 2 * 65536 * 1024));
  EXPECT_EQ(summed.launches - alone.launches, Count(1));
  // Three passes and the few rows that leave the cache, then two passes more.
  const double pass = 2.0 * 65536 * 1024 / (device.memory.bandwidth->value() * 0.92);
  EXPECT_NEAR(summed.expected->time.expected - alone.expected->time.expected, 2 * pass, pass / 4);
}

// 32 groups of 4 channels fill 64 columns as 2 groups of 64.
TEST(HalfConvolution, SmallGroupsShareTiles) {
  const Device device = DeviceOf("a100");
  const Runner runner(&device, {.converts = false});
  const TileGrid packed = *runner.Run(HalfConv(3, 32, 128)).execution->Grid();
  EXPECT_EQ(packed.batch, Count(2));
  EXPECT_EQ(packed.n, Count(64));
  EXPECT_EQ(packed.k, Count(64 * 9));
  // A direct kernel that the user forces computes no products between groups.
  const Runner forced(&device, {.converts = false, .conv = Algorithm::kDirect});
  EXPECT_EQ(forced.Run(HalfConv(3, 32, 128)).execution->On(Pipe::kVector).fma,
            Count(8LL * 56 * 56 * 128 * 4 * 9));
  const TileGrid wide = *runner.Run(HalfConv(3, 2, 128)).execution->Grid();
  EXPECT_EQ(wide.batch, Count(2));
  EXPECT_EQ(wide.n, Count(64));
}

// Gradients of weights from 3 to 64 channels, 3x3, on 8 images of 224 x 224: one tap after the
// other on a T4 and a V100, in tiles that such few channels leave almost empty; taps and channels
// together on an A100. A T4 took 2.5 ms, 0.55 TFLOP/s (DeepBench), where full tiles reach 40.
TEST(HalfConvolution, GradientsOfWeightsRunTapByTap) {
  ConvNest nest{.batch = 8, .in_channels = 3, .out_channels = 64, .of_weights = true};
  for (int i = 0; i < 2; ++i) {
    nest.axes.push_back({.in = 224, .out = 224, .kernel = 3, .stride = 1, .pad_begin = 1});
  }
  const Kernel kernel = Alone(nest, DType::kFloat16);
  const auto run = [&](const char* gpu) {
    const Device device = DeviceOf(gpu);
    return Runner(&device, {.converts = false}).Run(kernel);
  };
  const KernelRun t4 = run("t4");
  EXPECT_EQ(t4.execution->Grid()->batch, Count(9));
  EXPECT_EQ(t4.execution->Grid()->m, Count(3));
  EXPECT_EQ(t4.execution->On(Pipe::kTensor).fma, Count(9LL * 128 * 128 * 8 * 224 * 224));
  EXPECT_GT(t4.expected->time.expected, 2.5e-3 / 2);
  EXPECT_LT(t4.expected->time.expected, 2.5e-3 * 2);
  EXPECT_EQ(run("v100").execution->Grid()->tile_m, Count(64));
  EXPECT_EQ(run("a100").execution->Grid()->batch, Count(1));
  EXPECT_EQ(run("a100").execution->Grid()->m, Count(27));
}

// The first convolution of a network takes as long as one of 16 channels on a V100 and a T4, as one
// of eight on an A100.
TEST(HalfConvolution, FewChannelsArePadded) {
  const auto units = [](const char* gpu, int channels) {
    const Device device = DeviceOf(gpu);
    ConvNest nest{.batch = 64, .in_channels = channels, .out_channels = 64};
    for (int i = 0; i < 2; ++i) {
      nest.axes.push_back({.in = 56, .out = 56, .kernel = 3, .stride = 1, .pad_begin = 1});
    }
    const Runner runner(&device, {.converts = false});
    return runner.Run(Alone(nest, DType::kFloat16)).expected->units;
  };
  EXPECT_DOUBLE_EQ(units("v100", 3), units("v100", 16));
  EXPECT_DOUBLE_EQ(units("t4", 1), units("t4", 16));
  EXPECT_DOUBLE_EQ(units("a100", 3), units("a100", 8));
  EXPECT_LT(units("t4", 16), units("t4", 17));
}

// A pass over the result, where nothing is fused with the convolution.
TEST(HalfConvolution, BiasIsAPassOfItsOwn) {
  const Device device = DeviceOf("a100");
  Kernel kernel = HalfConv(3);
  const Count outputs = Count(8LL * 64 * 56 * 56);
  const auto stages = [&](bool apart) {
    const Runner runner(&device, {.converts = false, .bias_apart = apart});
    return runner.Run(kernel).execution->stages;
  };
  EXPECT_EQ(stages(true).size(), 1U);  // there is no bias
  kernel.work.Add(OpClass::kAdd, DType::kFloat16, outputs);
  EXPECT_EQ(stages(false).size(), 1U);
  ASSERT_EQ(stages(true).size(), 2U);
  EXPECT_EQ(stages(true)[1].extra_written, SizeOf(DType::kFloat16, outputs));
}

// PyTorch's group normalization reads channels first: two copies stand beside it where data lie
// channels last, and none beside rows of a layer normalization.
TEST(Normalization, CopiesWhatLiesChannelsLast) {
  const Device device = DeviceOf("a100-sxm4-80gb");
  const Count outer = 64, reduce = 40960;
  for (const bool planes : {false, true}) {
    Kernel kernel = Alone(ReduceNest{.outer = outer, .reduce = reduce, .planes = planes});
    kernel.bytes_read = kernel.bytes_written = SizeOf(kernel.math, outer * reduce);
    const auto run = [&](bool converts, bool first) {
      const Runner runner(&device, {.converts = converts, .planes_first = first});
      return runner.Run(kernel);
    };
    const auto extra = [](const KernelRun& of) {
      return of.execution ? of.execution->ExtraRead() + of.execution->ExtraWritten() : Bytes(0);
    };
    const KernelRun plain = run(false, false), copied = run(false, true);
    EXPECT_EQ(extra(plain), Bytes(0));
    EXPECT_EQ(extra(run(true, true)), Bytes(0));
    EXPECT_EQ(extra(copied), planes ? Bytes(4LL * 4 * 64 * 40960) : Bytes(0));
    EXPECT_EQ(copied.launches, planes ? Count(3) : Count(1));
    EXPECT_EQ(copied.expected->time.expected > plain.expected->time.expected, planes);
  }
}

// Rows of an odd number of halves: on an A100 one product in whole tiles of 128 x 128 that keep k,
// at half of the rate; a batch of them on vector units. Where data are padded, on a GeForce, in
// float32 and for a single row as always.
TEST(OddRows, TakeKernelsThatLoadOneByOne) {
  const auto pipe = [](const char* gpu, const GemmNest& nest, bool as_is,
                       DType type = DType::kFloat16) {
    const Device device = DeviceOf(gpu);
    const KernelRun run = Runner(&device, {.odd_rows = as_is}).Run(Alone(nest, type));
    return std::pair(run.execution->On(Pipe::kTensor).fma, run.execution->Grid()->split_k);
  };
  const auto is_vector = [&](const GemmNest& nest, const char* gpu = "a100", bool as_is = true) {
    return pipe(gpu, nest, as_is).first == Count(0);
  };
  const GemmNest batch{.batch = 384, .m = 197, .n = 197, .k = 64};
  EXPECT_TRUE(is_vector(batch));
  EXPECT_TRUE(is_vector({.batch = 384, .m = 197, .n = 64, .k = 197}));
  EXPECT_TRUE(is_vector(batch, "t4"));
  EXPECT_FALSE(is_vector({.batch = 384, .m = 197, .n = 198, .k = 64}));
  EXPECT_FALSE(is_vector(batch, "a100", false));
  EXPECT_FALSE(is_vector(batch, "rtx-3090"));
  EXPECT_FALSE(is_vector(batch, "h100"));

  // A' B of 100,000 rows; of A the columns lie side by side.
  const auto milliseconds = [](std::int64_t m, bool as_is) {
    const GemmNest nest{.m = m, .n = 100, .k = 100000, .a_transposed = true};
    const Device device = DeviceOf("a100");
    return 1e3 * Runner(&device, {.odd_rows = as_is})
                     .Run(Alone(nest, DType::kBfloat16))
                     .expected->time.expected;
  };
  // Measured: 3.3 ms and 0.1, with what calls and waits take (pytorch/pytorch, issues 106469,
  // 146817).
  EXPECT_NEAR(milliseconds(19, true), 3.3, 1);
  EXPECT_LT(milliseconds(18, true), 0.1);
  EXPECT_LT(milliseconds(19, false), 0.1);
  EXPECT_EQ(pipe("a100", {.m = 19, .n = 100, .k = 100001}, true).second, Count(1));
  EXPECT_GT(pipe("a100", {.m = 19, .n = 100, .k = 100001}, false).second, Count(1));
}

// On a Hopper they run batches as well, and share k. The head of GPT-2 over 4,096 positions takes
// an H200 3.04 ms (bench/published/h200).
TEST(OddRows, OfAHopper) {
  const Device device = DeviceOf("h200");
  const auto run = [&](const GemmNest& nest) {
    return Runner(&device, {.odd_rows = true}).Run(Alone(nest, DType::kFloat16));
  };
  const KernelRun head = run({.m = 4096, .n = 50257, .k = 768, .b_is_weight = true});
  EXPECT_NEAR(1e3 * head.expected->time.expected, 3.04, 0.8);
  const KernelRun batch = run({.batch = 384, .m = 197, .n = 197, .k = 64});
  EXPECT_GT(batch.execution->On(Pipe::kTensor).fma, Count(0));
  EXPECT_GT(run({.m = 760, .n = 161, .k = 7631}).execution->Grid()->split_k, Count(1));
  // Even rows that 8 does not divide (6459 x 3694 x 13244): 2.95 ms.
  const GemmNest even{.m = 6459, .n = 3694, .k = 13244, .b_is_weight = true};
  EXPECT_NEAR(1e3 * run(even).expected->time.expected, 2.95, 0.5);
}

TEST(Gemm, TilesAndSplitsOfTheAffineLayersOnA100) {
  const Device a100 = DeviceOf("a100-sxm4-80gb");
  const Runner runner(&a100, {});
  const auto grid = [&](Count n, Count k) {
    return *runner.Run(Alone(GemmNest{.m = 128, .n = n, .k = k})).execution->Grid();
  };
  for (const auto& [n, k, split] : {std::tuple{4096, 9216, 1}, {4096, 4096, 1}, {1000, 4096, 6}}) {
    const TileGrid chosen = grid(n, k);
    EXPECT_EQ(chosen.tile_m, Count(32));
    EXPECT_EQ(chosen.tile_n, Count(32));
    EXPECT_EQ(chosen.split_k, Count(split)) << n << " x " << k;
  }
}

// Recorded by a profiler beside PyTorch's Linear: sliced tiles on an A100 from k = 32,768 on, and
// 128 x 128 in ten parts on a V100 (8.4 blocks a unit, k = 51,775: nine; 12.2 and 28,959: ten).
TEST(Gemm, LongSumsRunInOtherTiles) {
  const auto grid = [](const char* gpu, Count m, Count n, Count k) {
    const Device device = DeviceOf(gpu);
    return *Runner(&device, {}).Run(Alone(GemmNest{.m = m, .n = n, .k = k})).execution->Grid();
  };
  EXPECT_EQ(grid("a100", 2048, 2048, 8192).slices, Count(1));
  const TileGrid sliced = grid("a100", 2048, 2048, 40000);
  EXPECT_EQ(sliced.slices, Count(4));
  EXPECT_EQ(sliced.split_k, Count(1));
  const TileGrid shared = grid("v100-pcie-32gb", 4096, 4096, 28959);
  EXPECT_EQ(shared.tile_m, Count(128));
  EXPECT_EQ(shared.tile_n, Count(128));
  EXPECT_EQ(shared.split_k, Count(10));
  EXPECT_EQ(grid("v100-pcie-32gb", 4096, 4096, 8192).split_k, Count(1));
}

TEST(Gemm, VocabularyPadsToTheTile) {
  const Device p4 = DeviceOf("p4");
  const KernelRun run = Runner(&p4, {}).Run(Alone(GemmNest{.m = 128, .n = 10000, .k = 1024}));
  EXPECT_EQ(run.execution->Grid()->padded_n(), Count(10112));
}

// rocBLAS was tuned for 8 products on gfx908: 128 tiles of 128 x 128, a round and a bit of an
// MI100's 120 units.
TEST(Gemm, ManyProductsRunTheTileThatIsFastestForEight) {
  const auto tile = [](const char* gpu, std::int64_t batch) {
    const Device device = DeviceOf(gpu);
    const KernelRun run =
        Runner(&device, {}).Run(Alone(GemmNest{.batch = batch, .m = 512, .n = 512, .k = 512}));
    return run.execution->Grid()->tile_m.AsDouble();
  };
  EXPECT_EQ(tile("mi100", 8), 64);
  EXPECT_EQ(tile("mi100", 8000), 64);
  EXPECT_EQ(tile("mi210", 8000), 128);
}

TEST(Conv, ForcedAlgorithmsWhereTheyAreValid) {
  const InferredModel model =
      InferFile(std::string(DLCOST_SOURCE_DIR) + "/models/networks/resnet50.onnx");
  const Device v100 = DeviceOf("v100-sxm2-16gb");
  int fft = 0, product = 0;
  for (const KernelRun& run : Products(model, v100, {.conv = Algorithm::kFft})) {
    fft += run.execution->algorithm == Algorithm::kFft;
    product += run.execution->algorithm == Algorithm::kImplicitGemm;
  }
  EXPECT_EQ(fft, 13);  // 16 blocks, three of them with stride 2
  EXPECT_GT(product, 30);
}

// One row of the public measurements.
struct MeasuredConv {
  std::string device, algorithm;
  ConvNest nest;
  double seconds = 0;
};

std::vector<MeasuredConv> MeasuredRows() {
  std::ifstream file(std::string(DLCOST_SOURCE_DIR) + "/../shared/measured/conv.csv");
  std::vector<MeasuredConv> rows;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::vector<std::string> f;
    std::istringstream cells(line);
    for (std::string cell; std::getline(cells, cell, ',');) f.push_back(cell);
    if (f[1] != "fp32" || f[2] != "forward" || f[14].empty()) continue;
    const auto at = [&](int i) { return std::stoll(f[static_cast<std::size_t>(i)]); };
    MeasuredConv row{.device = f[0], .algorithm = f[14]};
    row.nest = {.batch = at(3),
                .in_channels = at(4),
                .out_channels = at(7),
                .axes = {{.in = at(5),
                          .kernel = at(8),
                          .stride = at(10),
                          .pad_begin = at(12),
                          .pad_end = at(12)},
                         {.in = at(6),
                          .kernel = at(9),
                          .stride = at(11),
                          .pad_begin = at(13),
                          .pad_end = at(13)}}};
    for (ConvAxis& axis : row.nest.axes) {
      axis.out = (axis.in + 2 * axis.pad_begin - axis.kernel) / axis.stride + 1;
    }
    row.seconds = std::stod(f[15]) * 1e-6;
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string FamilyOf(Algorithm algorithm) {
  if (algorithm == Algorithm::kWinogradNonfused) return "winograd";
  if (algorithm == Algorithm::kIm2colGemm) return "gemm";
  return std::string(Name(algorithm));
}

// How often the choice is cuDNN's. The numbers are recorded so that a change shows.
TEST(MeasuredConvolutions, AutoAgreesWithCudnn) {
  const std::vector<MeasuredConv> rows = MeasuredRows();
  if (rows.empty()) GTEST_SKIP() << "no measured convolutions beside the source tree";
  struct Tally {
    Device device;
    int rows = 0, agree = 0;
  };
  const RunOptions automatic;
  std::map<std::string, Tally> tallies;
  for (const MeasuredConv& row : rows) {
    auto [at, fresh] = tallies.try_emplace(row.device);
    Tally& tally = at->second;
    if (fresh) tally.device = DeviceOf(row.device);
    const KernelRun run = Runner(&tally.device, automatic).Run(Alone(row.nest));
    ++tally.rows;
    tally.agree += FamilyOf(run.execution->algorithm) == row.algorithm;
  }
  for (const auto& [name, tally] : tallies) {
    const double share = static_cast<double>(tally.agree) / tally.rows;
    std::printf("%-18s %4d rows, %5.1f %% as cuDNN chose\n", name.c_str(), tally.rows, 100 * share);
    EXPECT_GE(share, 0.75) << name;
  }
}

// Direct work over the peak is no bound for kernels that do less of it; what Winograd and Fourier
// need at least is.
TEST(MeasuredConvolutions, NoneBeatsTheBound) {
  const std::vector<MeasuredConv> rows = MeasuredRows();
  if (rows.empty()) GTEST_SKIP() << "no measured convolutions beside the source tree";
  std::map<std::string, Device> devices;
  int below_direct = 0, below_own = 0;
  for (const MeasuredConv& row : rows) {
    auto [at, fresh] = devices.try_emplace(row.device);
    if (fresh) at->second = DeviceOf(row.device);
    const Device& device = at->second;
    const FlopRate peak = FindRoof(device, WorkKind::kMatrix, DType::kFloat32).peak;
    if (row.seconds >= (Flops(MacsOf(row.nest) * 2) / peak).value()) continue;
    ++below_direct;
    // The product's bound, which is told nothing.
    below_own += row.seconds < Runner(&device, {}).Run(Alone(row.nest)).bound.time.value();
  }
  std::printf("%d of %zu rows beat the direct bound, %d their own\n", below_direct, rows.size(),
              below_own);
  EXPECT_GT(below_direct, 500);
  EXPECT_EQ(below_own, 0);
}

}  // namespace
}  // namespace dlcost
