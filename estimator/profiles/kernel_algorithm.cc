#include "estimator/profiles/kernel_algorithm.h"

namespace dlcost {
namespace {

struct AlgorithmRow {
  KernelAlgorithm algorithm;
  std::string_view name;
  KernelMethod method = KernelMethod::kNone;
  TransformedPart transforms = TransformedPart::kNone;
};

using enum KernelAlgorithm;

// In the order of the enumeration.
constexpr AlgorithmRow kAlgorithms[] = {
    {kNone, ""},
    {kFusedAttention, "fused attention"},
    {kFusedAttentionBackward, "fused attention, backward"},
    {kMergeOfPartialAttention, "merge of partial attention"},
    {kWinogradFilterTransform, "Winograd filter transform", KernelMethod::kWinograd,
     TransformedPart::kFilter},
    {kWinogradInputTransform, "Winograd input transform", KernelMethod::kWinograd,
     TransformedPart::kInput},
    {kWinogradOutputTransform, "Winograd output transform", KernelMethod::kWinograd,
     TransformedPart::kOutput},
    {kFftForwardTransform, "FFT, forward transform", KernelMethod::kFft},
    {kFftInverseTransform, "FFT, inverse transform", KernelMethod::kFft, TransformedPart::kInverse},
    {kFilterTransform, "filter transform", KernelMethod::kNone, TransformedPart::kFilter},
    {kImplicitGemmOffsets, "implicit GEMM offsets", KernelMethod::kImplicitGemm},
    {kOutputOfASplitProduct, "output of a split product"},
    {kMatrixPointers, "matrix pointers"},
    {kNchwToNhwc, "NCHW to NHWC"},
    {kNhwcToNchw, "NHWC to NCHW"},
    {kNchwToFolded, "NCHW to folded NHWC"},
    {kIm2col, "im2col", KernelMethod::kIm2col},
    {kFft, "FFT", KernelMethod::kFft},
    {kWinogradF2, "Winograd F(2x2, 3x3)", KernelMethod::kWinograd},
    {kWinograd, "Winograd", KernelMethod::kWinograd},
    {kWinogradNonfused, "Winograd, not fused", KernelMethod::kWinograd},
    {kImplicitGemm, "implicit GEMM", KernelMethod::kImplicitGemm},
    {kImplicitGemmPrecomputed, "implicit GEMM, offsets computed before",
     KernelMethod::kImplicitGemm},
    {kExplicitGemm, "explicit GEMM (im2col)", KernelMethod::kIm2col},
    {kBackwardData, "backward data"},
    {kBackwardFilter, "backward filter"},
    {kDirectDepthwise, "direct, depthwise", KernelMethod::kDepthwise},
    {kDirectGrouped, "direct, grouped", KernelMethod::kDirect},
    {kDirect, "direct", KernelMethod::kDirect},
    {kRecurrentCell, "cell"},
    {kRecurrentPersistent, "persistent"},
    {kSplitK, "split k"},
    {kBiasAndSplitK, "bias and split k"},
    {kMatrixVector, "matrix times vector", KernelMethod::kMatrixVector},
    {kOuterProduct, "outer product"},
    {kContraction, "contraction"},
    {kBatchNorm, "batch"},
    {kLayerNorm, "layer"},
    {kRmsNorm, "root mean square"},
    {kGroupNorm, "group"},
    {kLocalResponseNorm, "local response"},
    {kConcatenation, "concatenation"},
    {kActivation, "activation"},
    {kBias, "bias"},
    {kTransposition, "transposition"},
    {kRotaryEmbedding, "rotary embedding"},
    {kCast, "cast"},
};

constexpr bool InOrder() {
  int at = 0;
  for (const AlgorithmRow& row : kAlgorithms) {
    if (static_cast<int>(row.algorithm) != at++) return false;
  }
  return true;
}
static_assert(InOrder());

const AlgorithmRow& Of(KernelAlgorithm algorithm) {
  return kAlgorithms[static_cast<std::size_t>(algorithm)];
}

}  // namespace

std::string_view Name(KernelAlgorithm algorithm) { return Of(algorithm).name; }
KernelMethod MethodOf(KernelAlgorithm algorithm) { return Of(algorithm).method; }
TransformedPart TransformedBy(KernelAlgorithm algorithm) { return Of(algorithm).transforms; }

bool IsTransformed(KernelAlgorithm algorithm) {
  const KernelMethod method = MethodOf(algorithm);
  return method == KernelMethod::kWinograd || method == KernelMethod::kFft;
}

std::string_view Name(TransformedPart part) {
  switch (part) {
    case TransformedPart::kNone:
      return "";
    case TransformedPart::kFilter:
      return "filter";
    case TransformedPart::kInput:
      return "input";
    case TransformedPart::kOutput:
      return "output";
    case TransformedPart::kInverse:
      return "inverse";
  }
  return "";
}

}  // namespace dlcost
