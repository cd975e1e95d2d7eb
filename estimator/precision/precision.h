#pragma once

#include <string>
#include <vector>

#include "estimator/infer/infer.h"
#include "estimator/precision/block_files.h"
#include "estimator/precision/quantize.h"
#include "models/gradients/writer.h"

namespace dlcost {

// In which types a model computes, as --precision names it.
struct Precision {
  std::string_view name;
  DType half = DType::kUndefined;  // kUndefined: all in the types of the file
  // Weights, activations and gradients are in the half type, and the optimizer keeps copies of the
  // weights in float32 (Micikevicius et al., "Mixed precision training", arXiv 1710.03740). false:
  // weights stay as they are, and operators run by AutocastRules.
  bool whole = false;
  // Weights of two axes and more are stored in the half type, operands of products are cast to it
  // and results back to what they are in the file (ggml's CUDA backend,
  // ggml_cuda_op_mul_mat_cublas). For inference.
  bool products = false;
  bool scales_loss = false;            // gradients would vanish in the half type
  DType product = DType::kUndefined;   // of the operands of products with weights; else `half`
  DType gradient = DType::kUndefined;  // of the gradients that go into such products
  bool tf32 = false;                   // products of float32 in tf32
  Quantization quantization;           // of stored weights; for inference
  const BlockMix* blocks = nullptr;    // stored weights as in a GGUF file; for inference

  bool ForServing() const { return quantization.weight != DType::kUndefined || blocks != nullptr; }
};

// fp32, tf32, amp-fp16, amp-bf16, fp16, bf16, fp8, products-fp16, w8a8-fp8, w4a4-nvfp4, w4a16-int4,
// w4a16-mxfp4, q4_0, q8_0, q4_k_m, q5_k_m, q6_k.
const std::vector<Precision>& Precisions();
std::vector<std::string> PrecisionNames();
const Precision& FindPrecision(const std::string& name);  // case ignored; throws Error

// Makes the nodes of a graph run in the types of a precision: writes a Cast wherever an operand has
// another type. Those of `parameters`, which training changes, run in every step, once for all
// readers (Phase::kCast); constants are cast before the run; each reader of anything else casts for
// itself, as autocast does. Bodies of control flow keep their types. The nodes of the writer's
// graph are sorted.
void ApplyPrecision(NodeWriter& writer, const Precision& precision,
                    const std::vector<TensorId>& parameters);

// The same of a model for inference, counted again. Under autocast the weights are copied in each
// pass.
InferredModel InPrecision(const InferredModel& model, const Precision& precision,
                          const InferOptions& options);

// `x` in float32, as losses and sums are taken.
TensorId InFloat32(NodeWriter& writer, TensorId x);

}  // namespace dlcost
