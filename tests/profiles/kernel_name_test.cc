#include "estimator/profiles/kernel_name.h"

#include <gtest/gtest.h>

#include "estimator/profiles/text.h"

namespace dlcost {
namespace {

using enum KernelFamily;

struct NamedKernel {
  const char* name;
  KernelFamily family;
  const char* library;
  const char* algorithm;
  const char* type;
  bool tensor;
  int m, n, k;  // 0: not told
};

// Names from public profiles.
constexpr NamedKernel kCases[] = {
    {"maxwell_scudnn_128x64_relu_interior_nn", kConvolution, "cuDNN", "implicit GEMM", "f32", false,
     128, 64, 0},
    {"maxwell_scudnn_winograd_128x128_ldg1_ldg4_tile148n_nt", kConvolution, "cuDNN",
     "Winograd F(2x2, 3x3)", "f32", false, 128, 128, 0},
    {"cudnn_ampere_scudnn_128x64_relu_xregs_large_nn_v1", kConvolution, "cuDNN", "implicit GEMM",
     "f32", false, 128, 64, 0},
    {"void implicit_convolve_sgemm<float, float, 128, 5, 5, 3, 3, 3, 1, false, false, true>(int)",
     kConvolution, "cuDNN", "implicit GEMM", "f32", false, 0, 0, 0},
    {"sm80_xmma_fprop_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nchw_tilesize128x128x16_"
     "stage4",
     kConvolution, "cuDNN", "implicit GEMM", "tf32", true, 128, 128, 16},
    {"void fft2d_r2c_32x32<float, false, 5u, true>(float2*)", kTransform, "cuDNN",
     "FFT, forward transform", "f32", false, 32, 32, 0},
    {"ampere_gcgemm_64x64_nt", kConvolution, "cuDNN", "FFT", "c64", false, 64, 64, 0},
    {"void cudnn::ops::nchwToNhwcKernel<float, float, float, false, true, "
     "(cudnnKernelDataType_t)2>()",
     kLayout, "cuDNN", "NCHW to NHWC", "f32", false, 0, 0, 0},
    {"volta_fp16_s884cudnn_fp16_256x64_ldg8_relu_f2f_exp_small_nhwc_tn_v1", kConvolution, "cuDNN",
     "implicit GEMM", "f16", true, 256, 64, 0},
    {"ampere_sgemm_32x32_sliced1x4_tn", kGemm, "cuBLAS", "", "f32", false, 32, 32, 0},
    {"ampere_fp16_s16816gemm_fp16_64x64_ldg8_f2f_stages_64x5_tn", kGemm, "cuBLAS", "", "f16", true,
     64, 64, 0},
    {"sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize128x64x8_stage3_warpsize2x2x1_ffma_aligna4_"
     "alignc4_execute_kernel__5x_cublas",
     kGemm, "cuBLAS", "", "f32", false, 128, 64, 8},
    {"void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x256_16x3_nn_align4>(T1::Params)",
     kGemm, "CUTLASS", "", "", true, 128, 256, 16},
    {"void gemv2T_kernel_val<float, float, float, 128, 16, 4, 4, false>(int)", kGemm, "",
     "matrix times vector", "f32", false, 0, 0, 0},
    // Weights in fewer bits: vllm-project/vllm, ggml-org/llama.cpp, microsoft/onnxruntime.
    {"void marlin::Marlin<256, 1, 8, 8, 4, 8>(int4 const*, int4 const*, int4*)", kGemm, "Marlin",
     "", "", true, 0, 0, 0},
    {"void mul_mat_vec_q<(ggml_type)12, 1, false>(void const*, void const*, float*)", kGemm, "ggml",
     "matrix times vector", "f32", false, 0, 0, 0},
    {"void mul_mat_q<(ggml_type)12, 128, false>(char const*, int const*, float*)", kGemm, "ggml",
     "", "f32", true, 0, 0, 0},
    {"MatMulFloatInt4Kernel<__half, 128, false>", kGemm, "ONNX Runtime", "matrix times vector",
     "f16", false, 0, 0, 0},
    {"void epilogue::impl::globalKernel<float, float, float, true, true>(int, int, long)",
     kEpilogue, "cuBLAS", "bias and split k", "f32", false, 0, 0, 0},
    {"void splitKreduce_kernel<float, float, float, float>(cublasSplitKParams<float>)", kEpilogue,
     "cuBLAS", "split k", "f32", false, 0, 0, 0},
    {"void at::native::(anonymous namespace)::max_pool_forward_nchw<float, float>(int)", kPooling,
     "PyTorch", "", "f32", false, 0, 0, 0},
    {"void at::native::(anonymous namespace)::fused_dropout_kernel_vec<float, float, unsigned int, "
     "1, 4>()",
     kDropout, "PyTorch", "", "f32", false, 0, 0, 0},
    {"void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous "
     "namespace)::launch_clamp_scalar>()",
     kElementwise, "PyTorch", "", "", false, 0, 0, 0},
    {"Cijk_Ailk_Bljk_SB_MT128x64x16_MI32x32x2x1", kGemm, "Tensile", "", "f32", true, 128, 64, 16},
    {"miopenSp3AsmConv_v30_2_1_gfx9_fp32_f2x3_stride1", kConvolution, "MIOpen",
     "Winograd F(2x2, 3x3)", "f32", false, 0, 0, 0},
    {"void Eigen::internal::EigenMetaKernel<Eigen::TensorEvaluator<float> >(int)", kElementwise,
     "Eigen", "", "f32", false, 0, 0, 0},
    {"triton_poi_fused_add_cos_sin_0", kElementwise, "Triton", "", "", false, 0, 0, 0},
    {"flash_attention_prefill_f16", kAttention, "", "fused attention", "f16", false, 0, 0, 0},
    {"dequant_q4_k_f16", kQuantize, "", "", "f16", false, 0, 0, 0},
    {"my_own_kernel(int*)", kUnknown, "", "", "", false, 0, 0, 0},
};

TEST(ReadKernelName, PublicNames) {
  for (const NamedKernel& expected : kCases) {
    const KernelName kernel = ReadKernelName(expected.name);
    EXPECT_EQ(Name(kernel.family), Name(expected.family)) << expected.name;
    EXPECT_EQ(kernel.library, expected.library) << expected.name;
    EXPECT_EQ(Name(kernel.algorithm), expected.algorithm) << expected.name;
    EXPECT_EQ(kernel.type, expected.type) << expected.name;
    EXPECT_EQ(kernel.tensor, expected.tensor) << expected.name;
    EXPECT_EQ(kernel.tile_m.value_or(0), expected.m) << expected.name;
    EXPECT_EQ(kernel.tile_n.value_or(0), expected.n) << expected.name;
    EXPECT_EQ(kernel.tile_k.value_or(0), expected.k) << expected.name;
  }
}

// A rule behind a more general one would never be found.
TEST(KernelNameRules, NoRuleIsHiddenByAnEarlierOne) {
  const auto rules = KernelNameRules();
  for (std::size_t i = 0; i < rules.size(); ++i) {
    EXPECT_EQ(Lower(rules[i].part), rules[i].part);
    for (std::size_t j = 0; j < i; ++j) {
      if (!rules[j].and_part.empty()) continue;
      EXPECT_FALSE(Contains(rules[i].part, rules[j].part)) << rules[i].part;
    }
  }
}

}  // namespace
}  // namespace dlcost
