#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "estimator/core/error.h"
#include "estimator/core/spelling.h"
#include "estimator/precision/precision.h"

namespace dlcost {

namespace {

Precision InBlocks(std::string_view name) {
  return {.name = name, .half = DType::kFloat16, .whole = true, .blocks = FindBlockMix(name)};
}

}  // namespace

const std::vector<Precision>& Precisions() {
  static const std::vector<Precision> kAll = {
      {.name = "fp32"},
      {.name = "tf32", .tf32 = true},
      {.name = "amp-fp16", .half = DType::kFloat16, .scales_loss = true},
      {.name = "amp-bf16", .half = DType::kBfloat16},
      {.name = "fp16", .half = DType::kFloat16, .whole = true, .scales_loss = true},
      {.name = "bf16", .half = DType::kBfloat16, .whole = true},
      {.name = "fp8",
       .half = DType::kBfloat16,
       .product = DType::kFloat8E4M3FN,
       .gradient = DType::kFloat8E5M2},
      {.name = "products-fp16", .half = DType::kFloat16, .products = true},
      // NVIDIA's Model Optimizer, modelopt/torch/quantization/config.py: FP8_DEFAULT_CFG and
      // NVFP4_DEFAULT_CFG with FP8_KV_CFG; INT4_AWQ_CFG.
      {.name = "w8a8-fp8",
       .half = DType::kBfloat16,
       .whole = true,
       .quantization = {.weight = DType::kFloat8E4M3FN,
                        .operand = DType::kFloat8E4M3FN,
                        .cache = DType::kFloat8E4M3FN}},
      {.name = "w4a4-nvfp4",
       .half = DType::kBfloat16,
       .whole = true,
       .quantization = {.weight = DType::kFloat4E2M1,
                        .operand = DType::kFloat4E2M1,
                        .block = 16,
                        .scale = DType::kFloat8E4M3FN,
                        .cache = DType::kFloat8E4M3FN}},
      {.name = "w4a16-int4",
       .half = DType::kFloat16,
       .whole = true,
       .quantization = {.weight = DType::kInt4, .block = 128}},
      // config.json of gpt-oss: attention, routers, embeddings and logits stay in bfloat16.
      {.name = "w4a16-mxfp4",
       .half = DType::kBfloat16,
       .whole = true,
       .quantization = {.weight = DType::kFloat4E2M1,
                        .block = 32,
                        .scale = DType::kFloat8E8M0,
                        .experts_only = true}},
      // Files of llama.cpp, whose caches are in halves.
      InBlocks("q4_0"),
      InBlocks("q8_0"),
      InBlocks("q4_k_m"),
      InBlocks("q5_k_m"),
      InBlocks("q6_k"),
  };
  return kAll;
}

std::vector<std::string> PrecisionNames() {
  std::vector<std::string> names;
  for (const Precision& precision : Precisions()) names.emplace_back(precision.name);
  return names;
}

const Precision& FindPrecision(const std::string& name) {
  const auto alike = [](char a, char b) { return std::tolower(a) == std::tolower(b); };
  for (const Precision& precision : Precisions()) {
    if (std::equal(name.begin(), name.end(), precision.name.begin(), precision.name.end(), alike)) {
      return precision;
    }
  }
  throw Error("--precision '{}' is not one of {}{}", Printable(name),
              fmt::join(PrecisionNames(), ", "), DidYouMean(name, PrecisionNames()));
}

}  // namespace dlcost
