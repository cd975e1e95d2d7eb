#pragma once

#include <span>

#include "models/operators/op_def.h"

namespace dlcost {

// One function per file of operator definitions; registry.cc lists them all.
// Neural networks.
std::span<const OpDef> ConvolutionOps();
std::span<const OpDef> DeformableOps();
std::span<const OpDef> MatMulOps();
std::span<const OpDef> EinsumOps();
std::span<const OpDef> PoolingOps();
std::span<const OpDef> NormalizationOps();
std::span<const OpDef> LayerNormOps();
std::span<const OpDef> SoftmaxOps();
std::span<const OpDef> RecurrentOps();
std::span<const OpDef> AttentionOps();
std::span<const OpDef> LinearAttentionOps();
std::span<const OpDef> QuantizationOps();
std::span<const OpDef> TrainingOps();
std::span<const OpDef> MuonOps();
std::span<const OpDef> GradientKernelOps();
std::span<const OpDef> CollectiveOps();
std::span<const OpDef> ExpertOps();
// Tensors.
std::span<const OpDef> ElementwiseUnaryOps();
std::span<const OpDef> ElementwiseBinaryOps();
std::span<const OpDef> PowerOps();
std::span<const OpDef> LogicOps();
std::span<const OpDef> VariadicOps();
std::span<const OpDef> SelectOps();
std::span<const OpDef> CastOps();
std::span<const OpDef> ActivationTableOps();
std::span<const OpDef> ActivationOps();
std::span<const OpDef> CumulativeOps();
std::span<const OpDef> ReductionOps();
std::span<const OpDef> TopKOps();
std::span<const OpDef> ViewOps();
std::span<const OpDef> ConstantOps();
std::span<const OpDef> ConcatOps();
std::span<const OpDef> SliceOps();
std::span<const OpDef> PadOps();
std::span<const OpDef> RepeatOps();
std::span<const OpDef> TransposeOps();
std::span<const OpDef> GatherOps();
std::span<const OpDef> ScatterOps();
std::span<const OpDef> ResizeOps();
std::span<const OpDef> DynamicOps();
std::span<const OpDef> SamplingOps();
std::span<const OpDef> SequenceOps();
std::span<const OpDef> OptionalOps();
std::span<const OpDef> ControlOps();
std::span<const OpDef> RandomOps();
std::span<const OpDef> SignalOps();
std::span<const OpDef> TextOps();
std::span<const OpDef> LegacyTableOps();
std::span<const OpDef> LegacyOps();
std::span<const OpDef> OpaqueOps();
// Classical machine learning.
std::span<const OpDef> MlFeatureOps();
std::span<const OpDef> MlLinearOps();
std::span<const OpDef> MlTreeOps();
// ONNX Runtime's own domains.
std::span<const OpDef> ContribAttentionOps();
std::span<const OpDef> ContribSelfAttentionOps();
std::span<const OpDef> ContribGroupedAttentionOps();
std::span<const OpDef> ContribLongAttentionOps();
std::span<const OpDef> ContribLinearAttentionOps();
std::span<const OpDef> ContribNormalizationOps();
std::span<const OpDef> ContribActivationOps();
std::span<const OpDef> ContribMatMulOps();
std::span<const OpDef> ContribBlockwiseOps();
std::span<const OpDef> ContribConvOps();
std::span<const OpDef> ContribQuantizedMatMulOps();
std::span<const OpDef> ContribQLinearOps();
std::span<const OpDef> ContribMoeOps();
std::span<const OpDef> ContribPositionOps();
std::span<const OpDef> ContribGenerationOps();
std::span<const OpDef> ContribMiscOps();
std::span<const OpDef> ContribNumericOps();
std::span<const OpDef> ContribGradientOps();
std::span<const OpDef> ContribConvGradientOps();
std::span<const OpDef> ContribOrderedOps();
std::span<const OpDef> ContribBlockFloatOps();
std::span<const OpDef> ContribTextOps();
std::span<const OpDef> ContribSparseIndexerOps();
std::span<const OpDef> ContribAttentionLstmOps();
std::span<const OpDef> ContribOptimizerOps();
std::span<const OpDef> ContribScatterGradientOps();
std::span<const OpDef> ContribNhwcOps();
std::span<const OpDef> ContribAliasOps();
// The package onnxruntime-extensions.
std::span<const OpDef> ExtensionOps();

}  // namespace dlcost
