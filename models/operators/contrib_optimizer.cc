#include "estimator/core/error.h"
#include "models/operators/common.h"
#include "models/operators/contrib.h"
#include "models/operators/families.h"

namespace dlcost {
namespace {

// The optimizers of ONNX Runtime's training: they update sequences of tensors in place. Counting
// per element, as the formulas are written:
// - SGD: w - rate * g: 1 mul, 1 add;
// - AdamW: both moments (5 mul, 2 add), corrected and divided (1 sqrt, 1 add, 1 div, 1 mul), weight
//   decay (1 mul, 1 add), update (1 mul, 1 add);
// - clipping by the norm of all: 1 MAC, 1 mul, and once 1 sqrt, 1 div, 1 compare.

const std::vector<TensorType>& TensorsIn(const OpContext& ctx, int input) {
  const TensorType& type = ctx.Input(input).type;
  if (!type.elements) {
    throw Unresolved("the tensors in sequence '" + Printable(ctx.Input(input).name) +
                     "' are only known at run time");
  }
  return *type.elements;
}

Count ElementsOfSequence(const std::vector<TensorType>& tensors) {
  Count sum;
  for (const TensorType& tensor : tensors) {
    if (!tensor.shape) throw Unresolved("the shape of a tensor in a sequence is not known");
    sum += tensor.shape->Elements();
  }
  return sum;
}

Bytes SizeOfAll(const std::vector<TensorType>& tensors) {
  Bytes sum;
  for (const TensorType& tensor : tensors) {
    if (tensor.shape) sum += SizeOf(tensor.dtype, tensor.shape->Elements());
  }
  return sum;
}

// Output 0 tells that it is done; the others are the sequences from input `first` on, without
// gradients (the second of them).
void InferSequences(OpContext& ctx, int first) {
  ctx.SetOutput(0, DType::kBool, {1});
  for (int i = 1; i < ctx.NumOutputs(); ++i) {
    const int input = first + (i == 1 ? 0 : i);
    if (ctx.HasOutput(i)) ctx.SetOutputTensorType(i, ctx.Input(input).type);
  }
}

void InferSgdOptimizer(OpContext& ctx) { InferSequences(ctx, 1); }
void InferAdamW(OpContext& ctx) { InferSequences(ctx, 2); }

// Sequences [first, first + count) are read, all but the gradients written.
OpCost MoveAll(const OpContext& ctx, int first, int count) {
  OpCost cost;
  for (int i = 0; i < first; ++i) AddRead(cost, ctx, i);
  for (int i = first; i < first + count; ++i) {
    const Bytes bytes = SizeOfAll(TensorsIn(ctx, i));
    cost.accesses.push_back({false, i, AccessKind::kInPlace, bytes});
    const int output = i == first ? 1 : i - first;
    if (i != first + 1) cost.accesses.push_back({true, output, AccessKind::kInPlace, bytes});
  }
  cost.nest = ElementwiseNest{ElementsOfSequence(TensorsIn(ctx, first))};
  return cost;
}

DType TypeOf(const std::vector<TensorType>& tensors) {
  return tensors.empty() ? DType::kFloat32 : tensors.front().dtype;
}

OpCost CostSgdOptimizer(const OpContext& ctx) {
  OpCost cost = MoveAll(ctx, 1, 2);
  const Count elements = ElementsOfSequence(TensorsIn(ctx, 1));
  const DType type = TypeOf(TensorsIn(ctx, 1));
  cost.work.Add(OpClass::kMul, type, elements);
  cost.work.Add(OpClass::kAdd, type, elements);
  return cost;
}

OpCost CostAdamWOptimizer(const OpContext& ctx) {
  OpCost cost = MoveAll(ctx, 2, 4);
  const Count elements = ElementsOfSequence(TensorsIn(ctx, 2));
  const DType type = TypeOf(TensorsIn(ctx, 2));
  cost.work.Add(OpClass::kMul, type, elements * 8);
  cost.work.Add(OpClass::kAdd, type, elements * 5);
  cost.work.Add(OpClass::kSqrt, type, elements);
  cost.work.Add(OpClass::kDiv, type, elements);
  return cost;
}

void InferClip(OpContext& ctx) { ctx.SetOutputTensorType(0, ctx.Input(0).type); }

OpCost CostClipGradNorm(const OpContext& ctx) {
  OpCost cost;
  const std::vector<TensorType>& tensors = TensorsIn(ctx, 0);
  const Count elements = ElementsOfSequence(tensors);
  const DType type = TypeOf(tensors);
  // Once for the norm, once to scale.
  cost.accesses.push_back({false, 0, AccessKind::kInPlace, SizeOfAll(tensors) * 2});
  cost.accesses.push_back({true, 0, AccessKind::kInPlace, SizeOfAll(tensors)});
  cost.work.Add(OpClass::kMac, type, elements);
  cost.work.Add(OpClass::kMul, type, elements);
  cost.work.Add(OpClass::kSqrt, type, 1);
  cost.work.Add(OpClass::kDiv, type, 1);
  cost.work.Add(OpClass::kCompare, type, 1);
  cost.nest = ReduceNest{.outer = 1, .reduce = elements};
  return cost;
}

constexpr OpCase kSgdOptimizerCases[] = {{.what = "10 elements in 2 tensors",
                                          .inputs = "f32[1] seq:f32([2,3];[4]) seq:f32([2,3];[4])",
                                          .outputs = "bool[1] seq:f32([2,3];[4])",
                                          .flops = 20,
                                          .bytes_read = 4 + 80,
                                          .bytes_written = 40}};
constexpr OpCase kAdamWOptimizerCases[] = {
    {.what = "10 elements in 2 tensors",
     .inputs = "f32[1] i64[1] seq:f32([2,3];[4]) seq:f32([2,3];[4]) seq:f32([2,3];[4]) "
               "seq:f32([2,3];[4])",
     .outputs = "bool[1] seq:f32([2,3];[4]) seq:f32([2,3];[4]) seq:f32([2,3];[4])",
     .flops = 150,
     .bytes_read = 12 + 160,
     .bytes_written = 120}};
constexpr OpCase kClipGradNormCases[] = {{.what = "10 elements in 2 tensors",
                                          .inputs = "seq:f32([2,3];[4])",
                                          .outputs = "seq:f32([2,3];[4])",
                                          .macs = 10,
                                          .flops = 20 + 10 + 3,
                                          .bytes_read = 80,
                                          .bytes_written = 40}};

constexpr ContribOps kMakeContribOptimizer;

constexpr OpDef kContribOptimizerOps[] = {
    kMakeContribOptimizer("SGDOptimizerV2", "1 mul, 1 add per element", InferSgdOptimizer,
                          CostSgdOptimizer, kSgdOptimizerCases),
    kMakeContribOptimizer("AdamWOptimizer", "8 mul, 5 add, 1 sqrt, 1 div per element", InferAdamW,
                          CostAdamWOptimizer, kAdamWOptimizerCases),
    kMakeContribOptimizer("InplaceClipGradNorm",
                          "1 MAC, 1 mul per element; 1 sqrt, 1 div, 1 compare", InferClip,
                          CostClipGradNorm, kClipGradNormCases),
};

}  // namespace

std::span<const OpDef> ContribOptimizerOps() { return kContribOptimizerOps; }

}  // namespace dlcost
