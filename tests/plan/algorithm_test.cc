#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "estimator/plan/choose.h"
#include "models/algorithms/convolution.h"
#include "models/algorithms/counters.h"
#include "tests/plan/plan_model.h"

namespace dlcost {
namespace {

Plan PlanOn(const InferredModel& model, const Device& device, MathMode math = MathMode::kDefault) {
  PlanOptions options;
  options.fusion = Fusion::kDefault;
  options.device = &device;
  options.math = math;
  return MakePlan(model, options);
}

std::vector<const Kernel*> Products(const Plan& plan) {
  std::vector<const Kernel*> products;
  for (const Kernel& kernel : plan.kernels) {
    if (kernel.execution != nullptr) products.push_back(&kernel);
  }
  return products;
}

// The published table: AlexNet at batch 1, nvprof flop_count_sp on a Tesla P4. Here from the model
// file to the counter, with everything chosen.
TEST(AlexNet, CountersOfEveryLayerOnP4) {
  const InferredModel model =
      InferFile(std::string(DLCOST_SOURCE_DIR) + "/models/networks/alexnet.onnx");
  const Device p4 = DeviceOf("p4");
  const Plan plan = PlanOn(model, p4);
  const std::vector<const Kernel*> layers = Products(plan);
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
    const Kernel& layer = *layers[i];
    EXPECT_EQ(layer.execution->algorithm, expected[i].algorithm) << layer.label;
    const double counter = ReadCounters(*layer.execution).flop_count_sp.AsDouble();
    EXPECT_NEAR(counter / expected[i].measured, 1.0, expected[i].tolerance) << layer.label;
  }
}

// At batch 128 on an A100 with tf32 convolutions: the first stays on vector units (three channels),
// the second goes through Fourier, the others are invisible to instruction counters.
TEST(AlexNet, ChoicesOnA100) {
  const InferredModel model =
      InferFile(std::string(DLCOST_SOURCE_DIR) + "/models/networks/alexnet.onnx", {}, 128);
  const Device a100 = DeviceOf("a100-sxm4-80gb");
  const Plan plan = PlanOn(model, a100, MathMode::kTf32);
  const std::vector<const Kernel*> layers = Products(plan);
  ASSERT_EQ(layers.size(), 8U);
  EXPECT_EQ(layers[0]->execution->algorithm, Algorithm::kImplicitGemm);
  EXPECT_EQ(layers[0]->execution->On(Pipe::kTensor).fma, Count(0));
  EXPECT_EQ(layers[1]->execution->algorithm, Algorithm::kFft);
  for (int i = 2; i < 5; ++i) {
    const CounterReading reading = ReadCounters(*layers[static_cast<std::size_t>(i)]->execution);
    EXPECT_EQ(reading.ffma, Count(0));
    EXPECT_GT(reading.tensor_flops, Flops(0));
  }
}

TEST(Gemm, TilesAndSplitsOfTheAffineLayersOnA100) {
  const Device a100 = DeviceOf("a100-sxm4-80gb");
  const Target target{.device = &a100};
  const auto grid = [&](Count n, Count k) {
    return *ChooseGemm({.m = 128, .n = n, .k = k}, DType::kFloat32, target).execution.Grid();
  };
  for (const auto& [n, k, split] : {std::tuple{4096, 9216, 1}, {4096, 4096, 1}, {1000, 4096, 6}}) {
    const TileGrid chosen = grid(n, k);
    EXPECT_EQ(chosen.tile_m, Count(32));
    EXPECT_EQ(chosen.tile_n, Count(32));
    EXPECT_EQ(chosen.split_k, Count(split)) << n << " x " << k;
  }
}

TEST(Gemm, VocabularyPadsToTheTile) {
  const Device p4 = DeviceOf("p4");
  const Choice choice =
      ChooseGemm({.m = 128, .n = 10000, .k = 1024}, DType::kFloat32, {.device = &p4});
  EXPECT_EQ(choice.execution.Grid()->padded_n(), Count(10112));
}

TEST(Conv, ForcedAlgorithmsWhereTheyAreValid) {
  const InferredModel model =
      InferFile(std::string(DLCOST_SOURCE_DIR) + "/models/networks/resnet50.onnx");
  const Device v100 = DeviceOf("v100-sxm2-16gb");
  PlanOptions options{.fusion = Fusion::kDefault, .conv = Algorithm::kFft, .device = &v100};
  const Plan plan = MakePlan(model, options);
  int fft = 0, product = 0;
  for (const Kernel* kernel : Products(plan)) {
    fft += kernel->execution->algorithm == Algorithm::kFft;
    product += kernel->execution->algorithm == Algorithm::kImplicitGemm;
  }
  EXPECT_EQ(fft, 13);  // 16 blocks, three of them with stride 2
  EXPECT_GT(product, 30);
}

// One row of the public measurements.
struct Row {
  std::string device, algorithm;
  ConvNest nest;
  double seconds = 0;
};

std::vector<Row> MeasuredRows() {
  std::ifstream file(std::string(DLCOST_SOURCE_DIR) + "/../shared/measured/conv.csv");
  std::vector<Row> rows;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::vector<std::string> f;
    std::istringstream cells(line);
    for (std::string cell; std::getline(cells, cell, ',');) f.push_back(cell);
    if (f[1] != "fp32" || f[2] != "forward" || f[14].empty()) continue;
    const auto at = [&](int i) { return std::stoll(f[static_cast<std::size_t>(i)]); };
    Row row{.device = f[0], .algorithm = f[14]};
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
  const std::vector<Row> rows = MeasuredRows();
  if (rows.empty()) GTEST_SKIP() << "no measured convolutions beside the source tree";
  struct Tally {
    Device device;
    int rows = 0, agree = 0;
  };
  std::map<std::string, Tally> tallies;
  for (const Row& row : rows) {
    auto [at, fresh] = tallies.try_emplace(row.device);
    Tally& tally = at->second;
    if (fresh) tally.device = DeviceOf(row.device);
    const Choice choice = ChooseConv(row.nest, DType::kFloat32, {.device = &tally.device});
    ++tally.rows;
    tally.agree += FamilyOf(choice.execution.algorithm) == row.algorithm;
  }
  for (const auto& [name, tally] : tallies) {
    const double share = static_cast<double>(tally.agree) / tally.rows;
    std::printf("%-18s %4d rows, %5.1f %% as cuDNN chose\n", name.c_str(), tally.rows, 100 * share);
    EXPECT_GE(share, 0.75) << name;
  }
}

// Direct work over the peak is no bound for kernels that do less of it; what Winograd and Fourier
// need at least is.
TEST(MeasuredConvolutions, NoneBeatsTheBoundOfItsAlgorithm) {
  const std::vector<Row> rows = MeasuredRows();
  if (rows.empty()) GTEST_SKIP() << "no measured convolutions beside the source tree";
  std::map<std::string, Device> devices;
  int below_direct = 0, below_own = 0;
  for (const Row& row : rows) {
    auto [at, fresh] = devices.try_emplace(row.device);
    if (fresh) at->second = DeviceOf(row.device);
    const Device& device = at->second;
    const Algorithm ran = row.algorithm == "winograd" ? Algorithm::kWinograd
                          : row.algorithm == "fft"    ? Algorithm::kFft
                                                      : Algorithm::kImplicitGemm;
    const FlopRate peak = FindRoof(device, WorkKind::kMatrix, DType::kFloat32).peak;
    const Count direct = AsGemm(row.nest).m * AsGemm(row.nest).n * AsGemm(row.nest).k;
    if (row.seconds >= (Flops(direct * 2) / peak).value()) continue;
    ++below_direct;
    // The planner's bound for this algorithm.
    const Count least = LeastConvMacs(row.nest, ran, direct);
    below_own += row.seconds < (Flops(least * 2) / peak).value();
  }
  std::printf("%d of %zu rows beat the direct bound, %d their own\n", below_direct, rows.size(),
              below_own);
  EXPECT_GT(below_direct, 500);
  EXPECT_EQ(below_own, 0);
}

}  // namespace
}  // namespace dlcost
