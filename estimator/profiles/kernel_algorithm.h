#pragma once

#include <string_view>

namespace dlcost {

// How a kernel does what its family does, as far as its name tells.
enum class KernelAlgorithm {
  kNone,  // the name does not tell
  kFusedAttention,
  kFusedAttentionBackward,
  kMergeOfPartialAttention,
  kWinogradFilterTransform,
  kWinogradInputTransform,
  kWinogradOutputTransform,
  kFftForwardTransform,
  kFftInverseTransform,
  kFilterTransform,
  kImplicitGemmOffsets,
  kOutputOfASplitProduct,
  kMatrixPointers,
  kNchwToNhwc,
  kNhwcToNchw,
  kNchwToFolded,
  kIm2col,
  kFft,
  kWinogradF2,
  kWinograd,
  kWinogradNonfused,
  kImplicitGemm,
  kImplicitGemmPrecomputed,
  kExplicitGemm,
  kBackwardData,
  kBackwardFilter,
  kDirectDepthwise,
  kDirectGrouped,
  kDirect,
  kRecurrentCell,
  kRecurrentPersistent,
  kSplitK,
  kBiasAndSplitK,
  kMatrixVector,
  kOuterProduct,
  kContraction,
  kBatchNorm,
  kLayerNorm,
  kRmsNorm,
  kGroupNorm,
  kLocalResponseNorm,
  kConcatenation,
  kActivation,
  kBias,
  kTransposition,
  kRotaryEmbedding,
  kCast,
};
std::string_view Name(KernelAlgorithm algorithm);  // "Winograd filter transform"; "" for kNone

// The way of computing that an algorithm is a part or a form of.
enum class KernelMethod {
  kNone,
  kDirect,
  kDepthwise,
  kImplicitGemm,
  kIm2col,
  kWinograd,
  kFft,
  kMatrixVector,
};
KernelMethod MethodOf(KernelAlgorithm algorithm);
// Whether it computes a convolution from transformed operands, in fewer products than its
// definition has.
bool IsTransformed(KernelAlgorithm algorithm);

// What a transform transforms; kNone for everything else.
enum class TransformedPart { kNone, kFilter, kInput, kOutput, kInverse };
TransformedPart TransformedBy(KernelAlgorithm algorithm);
std::string_view Name(
    TransformedPart part);  // "filter", "input", "output", "inverse"; "" for kNone

}  // namespace dlcost
