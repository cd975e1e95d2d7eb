#include <gmock/gmock.h>

#include <filesystem>
#include <map>

#include "tests/profiles/fixture.h"

// Real files of real profilers, where a checkout has them beside it; skipped where it has not.
namespace dlcost {
namespace {

namespace fs = std::filesystem;

class PublicProfiles : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::is_directory(folder_))
      GTEST_SKIP() << "no folder " << folder_ << " beside the sources";
  }
  Measurement Read(const std::string& name) const {
    return ReadMeasurementFile((folder_ / name).string());
  }

  const fs::path folder_ = fs::path(DLCOST_SOURCE_DIR) / "../shared/profiles";
};

const MeasuredKernel& Named(const Measurement& m, const std::string& part) {
  for (const MeasuredKernel& kernel : m.kernels) {
    if (kernel.name.find(part) != std::string::npos) return kernel;
  }
  throw std::runtime_error("no kernel " + part);
}

TEST_F(PublicProfiles, EveryFileReadsAsWhatItIs) {
  const std::map<std::string, std::pair<std::string, std::size_t>> expected = {
      {"chrome_trace/pytorch_alexnet_a100.json.gz", {"chrome-trace", 98}},
      {"chrome_trace/pytorch_triton.json.gz", {"chrome-trace", 1}},
      {"cupti/alexnet_a100_batch128.csv", {"csv", 77}},
      {"ncu/long_format_excerpt.csv", {"ncu", 1}},
      {"ncu/ncu_gemm_tiled.csv", {"ncu", 1}},
      {"ncu/ncu_saxpy.csv", {"ncu", 1}},
      {"ncu/peaks.csv", {"csv", 2}},
      {"ncu/raw_page_excerpt.csv", {"ncu", 2}},
      {"nsys/dotllm_cuda_api_sum_p476.csv", {"nsys-stats", 5}},
      {"nsys/dotllm_cuda_gpu_kern_sum_p2091.csv", {"nsys-stats", 13}},
      {"nsys/dotllm_cuda_gpu_kern_sum_p476.csv", {"nsys-stats", 15}},
      {"nvprof/batchCUBLAS_metrics.csv", {"nvprof", 4}},
      {"nvprof/matrixMul_metrics.csv", {"nvprof", 1}},
      {"nvprof/matrixMul_trace.csv", {"nvprof", 304}},
      {"onednn/dnnl_v1.7_pytorch_resnet.log", {"onednn", 4}},
      {"onednn/onednn_v1schema_matmul_lines.log", {"onednn", 2}},
      {"onednn/onednn_v3.3.4_ipex_hello_world.log", {"onednn", 4}},
      {"vtune/hotspots_excerpt.csv", {"vtune", 11}},
  };
  int files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
    if (!entry.is_regular_file()) continue;
    ++files;
    const std::string name = fs::relative(entry.path(), folder_).string();
    const Measurement m = ReadMeasurementFile(entry.path().string());
    const auto found = expected.find(name);
    if (found == expected.end()) continue;
    EXPECT_EQ(m.format, found->second.first) << name;
    EXPECT_EQ(m.kernels.size(), found->second.second) << name;
  }
  EXPECT_GE(files, 24);
}

TEST_F(PublicProfiles, CuptiCountersOfAlexNet) {
  const Measurement m = Read("cupti/alexnet_a100_batch128.csv");
  // conv1: k padded from 363 to 368; conv3 to conv5 ran on tensor cores, so no fused multiply-adds.
  EXPECT_EQ(m.kernels[1].VectorFlops(), 2.0 * 9119334400 + 24780800);
  EXPECT_EQ(m.kernels[30].VectorFlops(), 2.0 * 4831838208 + 1572864 + 2097152);
  EXPECT_EQ(m.kernels[14].VectorFlops(), 16613376);
  EXPECT_FALSE(m.kernels[1].duration);  // the file's durations are those of the profiling range
  EXPECT_EQ(m.notes.size(), 1u);
}

TEST_F(PublicProfiles, NvprofCountersOfBatchedGemm) {
  const Measurement m = Read("nvprof/batchCUBLAS_metrics.csv");
  const MeasuredKernel& gemm = Named(m, "maxwell_sgemmBatched_64x64_raggedMn_nn");
  EXPECT_EQ(gemm.VectorFlops(), 42434560);  // 2 MNK + 3 MN, 128 cubed, 10 of them
  EXPECT_EQ(CounterOf(gemm, Metric::kDramRead), 20419 * 32.0);
  const Measurement mul = Read("nvprof/matrixMul_metrics.csv");
  EXPECT_EQ(mul.kernels[0].launches, 301);
  EXPECT_EQ(mul.kernels[0].VectorFlops(), 131072000);
  EXPECT_EQ(CounterOf(mul.kernels[0], Metric::kGlobalLoads), 1024000);
  EXPECT_NEAR(CounterOf(mul.kernels[0], Metric::kOccupancy), 0.935178, 1e-9);
}

TEST_F(PublicProfiles, NsightComputeUnderNewNames) {
  const Measurement gemm = Read("ncu/ncu_gemm_tiled.csv");
  EXPECT_EQ(CounterOf(gemm.kernels[0], Metric::kDramRead), 53261312);
  EXPECT_EQ(CounterOf(gemm.kernels[0], Metric::kDramWrite), 3377920);
  EXPECT_NEAR(gemm.kernels[0].duration->value(), 10195552e-9, 1e-15);
  const Measurement raw = Read("ncu/raw_page_excerpt.csv");
  EXPECT_NEAR(raw.kernels[0].duration->value(), 9600e-9, 1e-15);
  EXPECT_EQ(raw.kernels[0].grid->at(0), 296);
  const Measurement total = Read("ncu/long_format_excerpt.csv");
  EXPECT_EQ(total.kernels[0].DramBytes(), 823404288);
}

TEST_F(PublicProfiles, PyTorchKernelsBelongToTheLaunchingOperator) {
  const Measurement m = Read("chrome_trace/pytorch_alexnet_a100.json.gz");
  std::map<std::string, int> kernels;
  for (const MeasuredKernel& kernel : m.kernels) {
    if (kernel.kind == MeasuredKind::kKernel) ++kernels[kernel.op];
  }
  // Two forward passes: five convolutions with 2 + 4 + 3 + 3 + 3 kernels and the bias of each, ...
  EXPECT_EQ(kernels["aten::conv2d"], 2 * (2 + 4 + 3 + 3 + 3 + 5));
  EXPECT_EQ(kernels["aten::relu_"], 2 * 7);
  EXPECT_EQ(kernels["aten::max_pool2d"], 2 * 3);
  EXPECT_EQ(kernels["aten::linear"], 2 * 6);
  EXPECT_EQ(kernels["aten::dropout"], 2 * 2);
  EXPECT_EQ(kernels["aten::adaptive_avg_pool2d"], 2);
  EXPECT_EQ(kernels["aten::rand"], 1);
  EXPECT_EQ(kernels[""], 0);
  const Measurement triton = Read("chrome_trace/pytorch_triton.json.gz");
  EXPECT_EQ(triton.kernels[0].scope.back(), "triton_poi_fused_add_cos_sin_0");
}

}  // namespace
}  // namespace dlcost
