#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "estimator/profiles/kernel_algorithm.h"

namespace dlcost {

// What a kernel does, as far as its name tells.
enum class KernelFamily {
  kUnknown,
  kConvolution,
  kGemm,  // matrix product, and matrix times vector
  kAttention,
  kRecurrent,
  kPooling,
  kNormalization,  // batch, layer, group, RMS
  kSoftmax,
  kElementwise,  // activation, bias, addition, casts
  kReduction,
  kDropout,
  kEmbedding,  // gather, scatter, index
  kLayout,     // transposition, padding, NCHW to NHWC, concatenation
  kTransform,  // of data or filters, for FFT and Winograd, and offsets computed beforehand
  kEpilogue,   // split-k reduction and bias behind a matrix product
  kQuantize,
  kRandom,
  kFill,
  kCommunication,  // between devices: NCCL, RCCL, Horovod
};
std::string_view Name(KernelFamily family);  // "convolution", "matrix product", ...

struct KernelName {
  KernelFamily family = KernelFamily::kUnknown;
  std::string_view
      library;  // "cuDNN", "cuBLAS", "CUTLASS", "PyTorch", "Eigen", "Triton", ...; "" unknown
  KernelAlgorithm algorithm = KernelAlgorithm::kNone;
  bool tensor = false;  // runs on the matrix pipe (tensor cores, MFMA)
  std::string type;     // input type: "f32", "f16", "tf32", "i8", ...; "" unknown
  std::optional<std::int64_t> tile_m, tile_n, tile_k;
};

// What the name of a cuDNN, cuBLAS, CUTLASS, Eigen, PyTorch, TensorRT, Triton, MIOpen or hipBLAS
// (Tensile) kernel tells. A name without a rule gives kUnknown and what tile and type it spells.
KernelName ReadKernelName(std::string_view name);

// The table behind it: the first rule whose parts all occur in the name (case ignored) counts.
struct KernelNameRule {
  std::string_view part, and_part;  // and_part may be ""
  std::string_view library;
  KernelFamily family;
  KernelAlgorithm algorithm;
  bool tensor;
};
std::span<const KernelNameRule> KernelNameRules();

}  // namespace dlcost
