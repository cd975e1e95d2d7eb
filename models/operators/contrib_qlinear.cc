#include <algorithm>

#include "estimator/core/error.h"
#include "models/operators/common.h"
#include "models/operators/contrib.h"
#include "models/operators/counting.h"
#include "models/operators/families.h"

namespace dlcost {
namespace {

// ONNX Runtime's elementwise operators between quantized tensors. Counting: every input element is
// dequantized (1 integer subtraction, 1 conversion, 1 multiplication), the operation is that of the
// float operator, every output element is requantized (1 multiplication, 1 conversion, 1 integer
// addition). Reductions add integers and requantize their outputs.

void AddQLinearDequantize(Work& work, Count elements) {
  work.Add(OpClass::kInteger, DType::kInt32, elements);
  work.Add(OpClass::kConvert, DType::kFloat32, elements);
  work.Add(OpClass::kMul, DType::kFloat32, elements);
}

// Inputs: A, A_scale, A_zero_point, B, B_scale, B_zero_point, C_scale, C_zero_point.
void InferBinary(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  ctx.SetOutput(0, ctx.InputType(0), Broadcast(ctx.InputShape(0), ctx.InputShape(3)));
}

OpCost CostBinary(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const Count outputs = ctx.OutputShape(0).Elements();
  AddQLinearDequantize(cost.work, ctx.InputShape(0).Elements());
  AddQLinearDequantize(cost.work, ctx.InputShape(3).Elements());
  cost.work.Add(ctx.op() == "QLinearAdd" ? OpClass::kAdd : OpClass::kMul, DType::kFloat32, outputs);
  AddRequantize(cost.work, outputs);
  cost.nest = ElementwiseNest{outputs};
  return cost;
}

OpCost CostUnary(const OpContext& ctx, std::string_view activation) {
  OpCost cost = StreamAll(ctx);
  const Count elements = ctx.InputShape(0).Elements();
  AddQLinearDequantize(cost.work, elements);
  AddActivation(cost.work, DType::kFloat32, activation, elements);
  AddRequantize(cost.work, elements);
  cost.nest = ElementwiseNest{elements};
  return cost;
}

OpCost CostLeakyRelu(const OpContext& ctx) { return CostUnary(ctx, "leakyrelu"); }
OpCost CostSigmoid(const OpContext& ctx) { return CostUnary(ctx, "sigmoid"); }
OpCost CostQLinearGelu(const OpContext& ctx) { return CostUnary(ctx, "gelu"); }

// Attribute opset says which Softmax it stands for: flattened at the axis before 13.
OpCost CostQLinearSoftmax(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const Shape& x = ctx.InputShape(0);
  const bool flattened = ctx.Int("opset", 13) < 13;
  const std::size_t axis = NormalizeAxis(ctx.Int("axis", flattened ? 1 : -1), x.rank());
  const Count elements = x.Elements();
  const Count reduce = flattened ? x.Product(axis, x.rank()) : Count(x[axis]);
  const Count rows = reduce > Count(0) ? elements / reduce : Count(0);
  AddQLinearDequantize(cost.work, elements);
  AddSoftmax(cost.work, DType::kFloat32, elements, rows);
  AddRequantize(cost.work, elements);
  cost.nest = ReduceNest{.outer = rows, .reduce = reduce};
  return cost;
}

// Inputs: Y_scale, Y_zero_point, then tensor, scale, zero point of each part.
void InferQLinearConcat(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(1));
  if (ctx.NumInputs() < 5 || (ctx.NumInputs() - 2) % 3 != 0) {
    throw Error("{} inputs are not scale, zero point and triples", ctx.NumInputs());
  }
  Shape out = ctx.InputShape(2);
  const std::size_t axis = NormalizeAxis(ctx.RequiredInt("axis"), out.rank());
  Count extent = out[axis];
  for (int i = 5; i < ctx.NumInputs(); i += 3) {
    Shape part = ctx.InputShape(i);
    if (part.rank() != out.rank()) {
      throw Error("{} and {} differ in rank", ToString(out), ToString(part));
    }
    extent += part[axis];
    part[axis] = out[axis];
    if (part != out) {
      throw Error("input {} {} differs from {} off axis {}", i, ToString(ctx.InputShape(i)),
                  ToString(out), axis);
    }
  }
  out[axis] = extent.value();
  ctx.SetOutput(0, ctx.InputType(1), std::move(out));
}

OpCost CostEveryElement(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const Count outputs = ctx.OutputShape(0).Elements();
  AddQLinearDequantize(cost.work, outputs);
  AddRequantize(cost.work, outputs);
  cost.nest = ElementwiseNest{outputs};
  return cost;
}

// Inputs: condition, X, x_scale, x_zero_point, Y, y_scale, y_zero_point, z_scale, z_zero_point.
void InferQLinearWhere(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(1));
  ctx.SetOutput(0, ctx.InputType(1),
                Broadcast(ctx.InputShape(0), Broadcast(ctx.InputShape(1), ctx.InputShape(4))));
}

Shape QLinearReduced(const OpContext& ctx) {
  const Shape& x = ctx.InputShape(0);
  std::vector<bool> reduced(x.rank(), !ctx.HasAttribute("axes"));
  for (const std::int64_t axis : ctx.Ints("axes")) reduced[NormalizeAxis(axis, x.rank())] = true;
  std::vector<std::int64_t> dims;
  for (std::size_t i = 0; i < x.rank(); ++i) {
    if (!reduced[i]) dims.push_back(x[i]);
    if (reduced[i] && ctx.Int("keepdims", 1) != 0) dims.push_back(1);
  }
  return Shape(std::move(dims));
}

void InferReduceMean(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  ctx.SetOutput(0, ctx.InputType(0), QLinearReduced(ctx));
}

OpCost CostQLinearReduce(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const Count elements = ctx.InputShape(0).Elements();
  const Count outputs = ctx.OutputShape(0).Elements();
  cost.work.Add(OpClass::kInteger, DType::kInt32, Folds(elements, outputs));
  if (ctx.op() != "ReduceSumInteger") AddRequantize(cost.work, outputs);
  cost.nest =
      ReduceNest{.outer = outputs, .reduce = outputs > Count(0) ? elements / outputs : Count(0)};
  return cost;
}

void InferReduceSumInteger(OpContext& ctx) {
  const DType type = IsSigned(ctx.InputType(0)) ? DType::kInt32 : DType::kUint32;
  ctx.SetOutputType(0, type);
  ctx.SetOutput(0, type, QLinearReduced(ctx));
}

// Inputs: A, A_zero_point, B, B_zero_point; the product of integers as i32.
void InferMulInteger(OpContext& ctx) {
  ctx.SetOutputType(0, DType::kInt32);
  ctx.SetOutput(0, DType::kInt32, Broadcast(ctx.InputShape(0), ctx.InputShape(2)));
}

OpCost CostMulInteger(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  AddZeroPoint(cost.work, ctx, 0, 1);
  AddZeroPoint(cost.work, ctx, 2, 3);
  cost.work.Add(OpClass::kInteger, DType::kInt32, ctx.OutputShape(0).Elements());
  cost.nest = ElementwiseNest{ctx.OutputShape(0).Elements()};
  return cost;
}

constexpr OpCase kBinaryCases[] = {
    {.what = "6 + 3 dequantized, 6 operations, 6 requantized",
     .inputs = "u8[2,3] f32[] u8[] u8[3] f32[] u8[] f32[] u8[]",
     .outputs = "u8[2,3]",
     .flops = 9 + 6 + 6,
     .bytes_read = 6 + 3 + 12 + 3,
     .bytes_written = 6},
};

constexpr OpCase kLeakyReluCases[] = {
    {.what = "1 compare, 3 mul per element",
     .attributes = "alpha=0.1",
     .inputs = "u8[2,3] f32[] u8[] f32[] u8[]",
     .outputs = "u8[2,3]",
     .flops = 24,
     .bytes_read = 16,
     .bytes_written = 6},
};

constexpr OpCase kSigmoidCases[] = {
    {.what = "1 add, 1 div, 2 mul per element",
     .inputs = "u8[2,3] f32[] u8[] f32[] u8[]",
     .outputs = "u8[2,3]",
     .flops = 24,
     .bytes_read = 16,
     .bytes_written = 6},
};

constexpr OpCase kQLinearGeluCases[] = {
    {.what = "4 for the Gelu, 2 mul per element",
     .inputs = "i8[2,3] f32[] f32[]",
     .outputs = "i8[2,3]",
     .flops = 36,
     .bytes_read = 14,
     .bytes_written = 6},
};

// 2 rows of 3: 2 + 3 + 2 + 3; 2 multiplications per element.
constexpr OpCase kQLinearSoftmaxCases[] = {
    {.what = "last axis",
     .attributes = "opset=13",
     .inputs = "u8[2,3] f32[] u8[] f32[] u8[]",
     .outputs = "u8[2,3]",
     .flops = 20 + 12,
     .bytes_read = 16,
     .bytes_written = 6},
};

constexpr OpCase kQLinearConcatCases[] = {
    {.what = "two parts, rescaled",
     .attributes = "axis=1",
     .inputs = "f32[] u8[] u8[2,3] f32[] u8[] u8[2,1] f32[] u8[]",
     .outputs = "u8[2,4]",
     .flops = 16,
     .bytes_read = 8 + 12 + 3,
     .bytes_written = 8},
};

constexpr OpCase kQLinearWhereCases[] = {
    {.what = "every output rescaled",
     .inputs = "bool[2,3] u8[2,3] f32[] u8[] u8[] f32[] u8[] f32[] u8[]",
     .outputs = "u8[2,3]",
     .flops = 12,
     .bytes_read = 12 + 1 + 12 + 3,
     .bytes_written = 6},
};

constexpr OpCase kReduceMeanCases[] = {
    {.what = "one multiplication per output",
     .attributes = "axes=[1] keepdims=0",
     .inputs = "u8[2,3] f32[] u8[] f32[] u8[]",
     .outputs = "u8[2]",
     .flops = 2,
     .bytes_read = 16,
     .bytes_written = 2},
};

constexpr OpCase kReduceSumIntegerCases[] = {
    {.what = "integer additions are no FLOPs",
     .attributes = "axes=[1] keepdims=1",
     .inputs = "u8[2,3]",
     .outputs = "u32[2,1]",
     .bytes_read = 6,
     .bytes_written = 8},
};

constexpr OpCase kMulIntegerCases[] = {
    {.what = "integer multiplications are no FLOPs",
     .inputs = "u8[2,3] u8[] u8[3] u8[]",
     .outputs = "i32[2,3]",
     .bytes_read = 6 + 3 + 2,
     .bytes_written = 24},
};

constexpr ContribOps kMakeQLinear{FusionRole::kElementwise, "com.microsoft",
                                  IntegerInputs{.computed = kEveryInput}};

constexpr OpDef kContribQLinearOps[] = {
    kMakeQLinear("QLinearAdd", "dequantize both, 1 add, requantize", InferBinary, CostBinary,
                 kBinaryCases),
    kMakeQLinear("QLinearMul", "dequantize both, 1 mul, requantize", InferBinary, CostBinary,
                 kBinaryCases),
    kMakeQLinear("QLinearLeakyRelu", "dequantize, LeakyRelu, requantize", InferSameAsInput,
                 CostLeakyRelu, kLeakyReluCases),
    kMakeQLinear("QLinearSigmoid", "dequantize, Sigmoid, requantize", InferSameAsInput, CostSigmoid,
                 kSigmoidCases),
    kMakeQLinear("QOrderedGelu", "dequantize, Gelu, requantize", InferSameAsInput, CostQLinearGelu,
                 kQLinearGeluCases),
    kMakeQLinear("QLinearSoftmax", "dequantize, Softmax, requantize", InferSameAsInput,
                 CostQLinearSoftmax, kQLinearSoftmaxCases, FusionRole::kReduction),
    kMakeQLinear("QLinearConcat", "2 mul, 2 convert, 2 integer per element", InferQLinearConcat,
                 CostEveryElement, kQLinearConcatCases, FusionRole::kMovement),
    kMakeQLinear("QLinearWhere", "2 mul, 2 convert, 2 integer per element", InferQLinearWhere,
                 CostEveryElement, kQLinearWhereCases),
    kMakeQLinear("QLinearReduceMean", "integer additions; 1 mul, 1 convert per output",
                 InferReduceMean, CostQLinearReduce, kReduceMeanCases, FusionRole::kReduction),
    kMakeQLinear("ReduceSumInteger", "integer additions", InferReduceSumInteger, CostQLinearReduce,
                 kReduceSumIntegerCases, FusionRole::kReduction),
    kMakeQLinear("MulInteger", "1 integer per output", InferMulInteger, CostMulInteger,
                 kMulIntegerCases),
};

}  // namespace

std::span<const OpDef> ContribQLinearOps() { return kContribQLinearOps; }

}  // namespace dlcost
