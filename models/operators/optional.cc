#include "estimator/core/error.h"
#include "models/operators/common.h"
#include "models/operators/families.h"

namespace dlcost {
namespace {

// Boxes that hold a value or nothing. Nothing moves.

void InferOptional(OpContext& ctx) {
  TensorType type;
  type.kind = ValueKind::kOptional;
  type.elements.emplace();
  if (ctx.HasInput(0)) {
    type.dtype = ctx.InputType(0);
    type.shape = ctx.Input(0).type.shape;
    type.elements->push_back(ctx.Input(0).type);
  }
  ctx.SetOutputTensorType(0, std::move(type));
}

void InferHasElement(OpContext& ctx) {
  ctx.SetOutput(0, DType::kBool, Shape());
  bool has = ctx.HasInput(0);
  if (has && ctx.Input(0).type.kind == ValueKind::kOptional) {
    if (!ctx.Input(0).type.elements) return;
    has = !ctx.Input(0).type.elements->empty();
  }
  ctx.SetOutputValue(0, Value(std::vector<std::int64_t>{has ? 1 : 0}));
}

void InferGetElement(OpContext& ctx) {
  const TensorType& type = ctx.Input(0).type;
  if (type.kind != ValueKind::kOptional) {
    ctx.SetOutputTensorType(0, type);
  } else if (type.elements) {
    if (type.elements->empty()) throw Error("the optional is empty");
    ctx.SetOutputTensorType(0, type.elements->front());
  } else {
    ctx.SetOutputTensorType(0, {.dtype = type.dtype, .shape = type.shape});
    if (!type.shape) throw Unresolved("the content of the optional is not known");
  }
}

constexpr OpCase kOptionalCases[] = {
    {.what = "holds a tensor", .inputs = "f32[2,3]", .outputs = "opt:f32([2,3])"}};
constexpr OpCase kHasCases[] = {{.what = "empty", .inputs = "opt:f32()", .outputs = "bool[]{0}"}};
constexpr OpCase kGetCases[] = {
    {.what = "takes it out", .inputs = "opt:f32([2,3])", .outputs = "f32[2,3]"}};

constexpr OpDef kOptionalOps[] = {
    {.name = "Optional",
     .since = {15, 28},
     .formula = kViewFormula,
     .infer = InferOptional,
     .cost = CostView,
     .role = FusionRole::kView,
     .cases = kOptionalCases},
    {.name = "OptionalHasElement",
     .since = {15, 18, 28},
     .formula = kMetadataFormula,
     .infer = InferHasElement,
     .cost = CostMetadata,
     .role = FusionRole::kView,
     .cases = kHasCases},
    {.name = "OptionalGetElement",
     .since = {15, 18, 28},
     .formula = kViewFormula,
     .infer = InferGetElement,
     .values = ValuesSameAsInput,
     .cost = CostView,
     .role = FusionRole::kView,
     .cases = kGetCases},
};

}  // namespace

std::span<const OpDef> OptionalOps() { return kOptionalOps; }

}  // namespace dlcost
