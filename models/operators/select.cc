#include <algorithm>

#include "estimator/core/error.h"
#include "models/operators/elementwise.h"
#include "models/operators/families.h"

namespace dlcost {
namespace {

void InferWhere(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(1));
  if (ctx.InputType(1) != ctx.InputType(2)) {
    throw Error("the choices have different types, {} and {}", Name(ctx.InputType(1)),
                Name(ctx.InputType(2)));
  }
  ctx.SetOutput(0, ctx.InputType(1),
                Broadcast(ctx.InputShape(0), Broadcast(ctx.InputShape(1), ctx.InputShape(2))));
}

// A choice that the condition never takes may be unknown.
void WhereValues(OpContext& ctx) {
  const Value* condition = ctx.InputValue(0);
  if (condition == nullptr || !condition->is_integer()) return;
  const Shape& result = ctx.OutputShape(0);
  const Indices choose = BroadcastIndices(ctx.InputShape(0), result);
  const Indices from[] = {BroadcastIndices(ctx.InputShape(1), result),
                          BroadcastIndices(ctx.InputShape(2), result)};
  const Value* choices[] = {ctx.InputValue(1), ctx.InputValue(2)};
  std::vector<std::int64_t> ints;
  std::vector<double> reals;
  for (std::size_t i = 0; i < choose.size(); ++i) {
    const std::size_t which = condition->ints().at(choose[i]) != 0 ? 0 : 1;
    const Value* chosen = choices[which];
    if (chosen == nullptr) return;
    const std::size_t element = from[which][i];
    if (chosen->is_integer()) {
      ints.push_back(chosen->ints().at(element));
    } else {
      reals.push_back(chosen->reals().at(element));
    }
  }
  if (!ints.empty() && !reals.empty()) return;
  if (IsFloat(ctx.OutputType(0))) {
    SetReals(ctx, 0, std::move(reals));
  } else {
    SetInts(ctx, 0, std::move(ints));
  }
}

OpCost CostWhere(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const Count elements = ctx.OutputShape(0).Elements();
  cost.work.Add(OpClass::kInteger, ctx.InputType(0), elements);
  cost.nest = ElementwiseNest{elements};
  return cost;
}

constexpr OpCase kWhereCases[] = {
    {.what = "an attention mask: reads 16 + 4 + 256 bytes",
     .inputs = "bool[1,4,4] f32[] f32[4,4,4]",
     .outputs = "f32[4,4,4]",
     .bytes_read = 276,
     .bytes_written = 256},
    {.what = "known values (Expand's shape, as PyTorch writes it)",
     .inputs = "bool[2]{1,0} i64[2]{1,1} i64[2]{-1,7}",
     .outputs = "i64[2]{1,7}",
     .bytes_read = 34,
     .bytes_written = 16},
};

// Bounds are attributes before opset 11, inputs since.
bool HasBound(const OpContext& ctx, int input, std::string_view attribute) {
  return ctx.opset() < 11 ? ctx.HasAttribute(attribute) : ctx.HasInput(input);
}

OpCost CostClip(const OpContext& ctx) {
  const int bounds = HasBound(ctx, 1, "min") + HasBound(ctx, 2, "max");
  return CostPerElement(ctx, {.compare = bounds});
}

void ClipValues(OpContext& ctx) {
  const Value* x = ctx.InputValue(0);
  if (x == nullptr) return;
  ValuePtr bounds[2];
  for (int i = 0; i < 2; ++i) {
    const std::string_view name = i == 0 ? "min" : "max";
    if (!HasBound(ctx, i + 1, name)) continue;
    bounds[i] = ctx.opset() < 11
                    ? std::make_shared<const Value>(std::vector<double>{ctx.Float(name, 0)})
                    : ctx.SharedInputValue(i + 1);
    if (!bounds[i] || bounds[i]->size() != 1) return;
  }
  const auto clip = [](auto value, const auto* low, const auto* high) {
    if (low != nullptr) value = std::max(value, *low);
    if (high != nullptr) value = std::min(value, *high);
    return value;
  };
  if (x->is_integer()) {
    if ((bounds[0] && !bounds[0]->is_integer()) || (bounds[1] && !bounds[1]->is_integer())) return;
    std::vector<std::int64_t> ints = x->ints();
    for (std::int64_t& value : ints) {
      value = clip(value, bounds[0] ? bounds[0]->ints().data() : nullptr,
                   bounds[1] ? bounds[1]->ints().data() : nullptr);
    }
    SetInts(ctx, 0, std::move(ints));
    return;
  }
  if ((bounds[0] && bounds[0]->is_integer()) || (bounds[1] && bounds[1]->is_integer())) return;
  std::vector<double> reals = x->reals();
  for (double& value : reals) {
    value = clip(value, bounds[0] ? bounds[0]->reals().data() : nullptr,
                 bounds[1] ? bounds[1]->reals().data() : nullptr);
  }
  SetReals(ctx, 0, std::move(reals));
}

constexpr OpCase kClipCases[] = {
    {.what = "both bounds (ReLU6)",
     .inputs = "f32[2,3] f32[]{0} f32[]{6}",
     .outputs = "f32[2,3]",
     .flops = 12,
     .bytes_read = 32,
     .bytes_written = 24},
    {.what = "opset 6: one bound, an attribute",
     .attributes = "min=0.0",
     .inputs = "f32[2,3]",
     .outputs = "f32[2,3]",
     .flops = 6,
     .bytes_read = 24,
     .bytes_written = 24,
     .opset = 6},
    {.what = "a known value",
     .inputs = "i64[3]{-5,2,9} i64[]{0} i64[]{4}",
     .outputs = "i64[3]{0,2,4}",
     .flops = 6,
     .bytes_read = 40,
     .bytes_written = 24},
};

// 0: inference, 1: training, computed from what the file tells.
bool Trains(const OpContext& ctx) {
  if (ctx.opset() < 7) return ctx.Int("is_test", 0) == 0;
  if (ctx.opset() < 12) return false;
  const Value* mode = ctx.InputValue(2);
  const Value* ratio = ctx.InputValue(1);
  const bool drops = ratio == nullptr || ratio->size() != 1 || ratio->Real(0) != 0;
  return mode != nullptr && mode->size() == 1 && mode->Real(0) != 0 && drops;
}

void InferDropout(OpContext& ctx) {
  InferSameAsInput(ctx);
  // The mask has the type of the data before opset 10, bool since.
  ctx.SetOutput(1, ctx.opset() < 10 ? ctx.InputType(0) : DType::kBool, ctx.InputShape(0));
}

void DropoutValues(OpContext& ctx) {
  if (!Trains(ctx)) ValuesSameAsInput(ctx);
}

OpCost CostDropout(const OpContext& ctx) {
  if (Trains(ctx)) {
    OpCost cost = CostPerElement(ctx, {.mul = 2, .compare = 1, .integer = 1});
    cost.note = "training: y = scale * x * (random >= ratio)";
    return cost;
  }
  OpCost cost = CostView(ctx);
  if (ctx.HasOutput(1)) {
    cost.status = NodeStatus::kCounted;
    AddWrite(cost, ctx, 1);
  }
  if (ctx.opset() >= 12 && ctx.HasInput(2) && ctx.InputValue(2) == nullptr) {
    cost.note = "training_mode is computed at run time; counted as inference";
  }
  return cost;
}

constexpr OpCase kDropoutCases[] = {
    {.what = "inference: the data passes", .inputs = "f32[2,3]", .outputs = "f32[2,3]"},
    {.what = "training: compare, scale, mask",
     .inputs = "f32[2,3] f32[]{0.5} bool[]{1}",
     .outputs = "f32[2,3] bool[2,3]",
     .flops = 18,
     .bytes_read = 29,
     .bytes_written = 30},
};

constexpr OpDef kSelectOps[] = {
    {.name = "Where",
     .since = {9, 16},
     .formula = "1 selection (class integer) per element of the output",
     .infer = InferWhere,
     .values = WhereValues,
     .cost = CostWhere,
     .role = FusionRole::kElementwise,
     .cases = kWhereCases},
    {.name = "Clip",
     .since = {1, 6, 11, 12, 13},
     .formula = "1 compare per bound and element",
     .infer = InferSameAsInput,
     .values = ClipValues,
     .cost = CostClip,
     .role = FusionRole::kElementwise,
     .cases = kClipCases},
    {.name = "Dropout",
     .since = {1, 6, 7, 10, 12, 13, 22},
     .formula = "inference: a view; training: 1 compare, 2 mul per element",
     .infer = InferDropout,
     .values = DropoutValues,
     .cost = CostDropout,
     .role = FusionRole::kElementwise,
     .cases = kDropoutCases},
};

}  // namespace

std::span<const OpDef> SelectOps() { return kSelectOps; }

}  // namespace dlcost
