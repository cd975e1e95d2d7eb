#include "estimator/core/error.h"
#include "models/operators/elementwise.h"
#include "models/operators/families.h"

namespace dlcost {
namespace {

// Fused activations count what their parts would count one by one. Products of constants alone are
// free. Sigmoid and Tanh are mostly called as functions.
constexpr UnaryOp kActivationTable[] = {
    {.name = "Relu",
     .since = {1, 6, 13, 14},
     .formula = "max(x, 0): 1 compare per element",
     .operations = {.compare = 1},
     .real = [](double x) { return x > 0 ? x : 0; },
     .integer = [](std::int64_t x) -> MaybeInt { return x > 0 ? x : 0; },
     .example = SixFloats(6),
     .activation = true},
    {.name = "LeakyRelu",
     .since = {1, 6, 16},
     .formula = "x or alpha * x: 1 compare, 1 mul per element",
     .operations = {.mul = 1, .compare = 1},
     .example = SixFloats(12),
     .activation = true},
    {.name = "ThresholdedRelu",
     .since = {1, 10, 22},
     .formula = "x > alpha ? x : 0: 1 compare per element",
     .operations = {.compare = 1},
     .example = SixFloats(6),
     .activation = true},
    {.name = "Sigmoid",
     .since = {1, 6, 13},
     .formula = "1 / (1 + exp(-x)): 1 exp, 1 add, 1 div per element",
     .operations = {.add = 1, .div = 1, .exp = 1},
     .example = SixFloats(12)},
    {.name = "Tanh",
     .since = {1, 6, 13},
     .formula = "1 tanh (class trig) per element",
     .operations = {.trig = 1},
     .example = SixFloats(0)},
    {.name = "HardSigmoid",
     .since = {1, 6, 22},
     .formula = "max(0, min(1, alpha * x + beta)): 1 mul, 1 add, 2 compares per element",
     .operations = {.add = 1, .mul = 1, .compare = 2},
     .example = SixFloats(24),
     .activation = true},
    {.name = "HardSwish",
     .since = {14, 22},
     .formula = "x * HardSigmoid(x): 2 mul, 1 add, 2 compares per element",
     .operations = {.add = 1, .mul = 2, .compare = 2},
     .example = SixFloats(30),
     .activation = true},
    {.name = "Elu",
     .since = {1, 6, 22},
     .formula = "x or alpha * (exp(x) - 1): 1 compare, 1 exp, 1 add, 1 mul per element",
     .operations = {.add = 1, .mul = 1, .exp = 1, .compare = 1},
     .example = SixFloats(18),
     .activation = true},
    {.name = "Selu",
     .since = {1, 6, 22},
     .formula = "gamma * (x or alpha * exp(x) - alpha): 1 compare, 1 exp, 1 add, 2 mul per element",
     .operations = {.add = 1, .mul = 2, .exp = 1, .compare = 1},
     .example = SixFloats(24),
     .activation = true},
    {.name = "Celu",
     .since = {12, 28},
     .formula =
         "x or alpha * (exp(x / alpha) - 1): 1 compare, 1 div, 1 exp, 1 add, 1 mul per element",
     .operations = {.add = 1, .mul = 1, .div = 1, .exp = 1, .compare = 1},
     .example = SixFloats(24),
     .activation = true},
    {.name = "Softplus",
     .since = {1, 22},
     .formula = "log(1 + exp(x)): 1 exp, 1 add, 1 log per element",
     .operations = {.add = 1, .exp = 1, .log = 1},
     .example = SixFloats(6),
     .activation = true},
    {.name = "Softsign",
     .since = {1, 22},
     .formula = "x / (1 + |x|): 1 compare, 1 add, 1 div per element",
     .operations = {.add = 1, .div = 1, .compare = 1},
     .example = SixFloats(18),
     .activation = true},
    {.name = "Mish",
     .since = {18, 22},
     .formula = "x * tanh(log(1 + exp(x))): 1 exp, 1 add, 1 log, 1 tanh, 1 mul per element",
     .operations = {.add = 1, .mul = 1, .exp = 1, .log = 1, .trig = 1},
     .example = SixFloats(12),
     .activation = true},
    {.name = "Shrink",
     .since = {9},
     .formula = "x + bias, x - bias or 0: 2 compares, 1 add per element",
     .operations = {.add = 1, .compare = 2},
     .example = SixFloats(18),
     .activation = true},
};

constexpr auto kActivationTableOps = MakeUnaryOps<kActivationTable>();

// erf: 0.5 * x * (1 + erf(x / sqrt(2))). tanh: 0.5 * x * (1 + tanh(c * (x + 0.044715 * x^3))).
OpCost CostGelu(const OpContext& ctx) {
  const std::string approximate = ctx.String("approximate", "none");
  if (approximate == "none") return CostActivation(ctx, {.add = 1, .mul = 3, .trig = 1});
  if (approximate == "tanh") return CostActivation(ctx, {.add = 2, .mul = 6, .trig = 1});
  throw Error("approximate is '{}'; there are 'none' and 'tanh'", Printable(approximate));
}

constexpr OpCase kGeluCases[] = {SixFloats(24), SixFloats(48, "approximate='tanh'")};

// x * Sigmoid(alpha * x); a product with alpha = 1 is none.
PerElement SwishOperations(const OpContext& ctx) {
  return {.add = 1, .mul = ctx.Float("alpha", 1) == 1 ? 1 : 2, .div = 1, .exp = 1};
}

OpCost CostSwish(const OpContext& ctx) { return CostActivation(ctx, SwishOperations(ctx)); }

constexpr OpCase kSwishCases[] = {SixFloats(18), SixFloats(24, "alpha=1.702")};

void InferSwiglu(OpContext& ctx) {
  InferSameAsInput(ctx);
  if (ctx.InputShape(0) != ctx.InputShape(1)) {
    throw Error("gate {} and value {} differ in shape", ToString(ctx.InputShape(0)),
                ToString(ctx.InputShape(1)));
  }
}

OpCost CostSwiglu(const OpContext& ctx) {
  PerElement operations = SwishOperations(ctx);
  operations.mul += 1;
  return CostPerElement(ctx, operations);
}

constexpr OpCase kSwigluCases[] = {{.what = "6 elements",
                                    .inputs = "f32[2,3] f32[2,3]",
                                    .outputs = "f32[2,3]",
                                    .flops = 24,
                                    .bytes_read = 48,
                                    .bytes_written = 24}};

void InferPrelu(OpContext& ctx) {
  InferSameAsInput(ctx);
  const Shape& x = ctx.InputShape(0);
  const Shape& slope = ctx.InputShape(1);
  // Before opset 7 the slope is one number, or one per channel.
  if (ctx.opset() < 7) return;
  // Slope per channel without trailing ones is common in files and accepted by runtimes.
  if (slope.rank() == 1 && x.rank() >= 2 && slope[0] == x[1]) return;
  if (Broadcast(x, slope) != x) {
    throw Error("slope {} does not broadcast to {}", ToString(slope), ToString(x));
  }
}

OpCost CostPrelu(const OpContext& ctx) { return CostActivation(ctx, {.mul = 1, .compare = 1}); }

constexpr OpCase kPreluCases[] = {{.what = "a slope per channel",
                                   .inputs = "f32[1,4,5,5] w:f32[4,1,1]",
                                   .outputs = "f32[1,4,5,5]",
                                   .flops = 200,
                                   .bytes_read = 416,
                                   .bytes_written = 400}};

// ONNX has it since version 18; the same for files of earlier ones.
OpCost CostMish(const OpContext& ctx) {
  return CostActivation(ctx, {.add = 1, .mul = 1, .exp = 1, .log = 1, .trig = 1});
}

constexpr OpCase kMishCases[] = {SixFloats(12)};

constexpr OpDef kActivationOps[] = {
    {.name = "Mish",
     .domain = "dlcost.training",
     .formula = "x * tanh(log(1 + exp(x))): 1 exp, 1 add, 1 log, 1 tanh, 1 mul per element",
     .infer = InferSameAsInput,
     .cost = CostMish,
     .role = FusionRole::kElementwise,
     .cases = kMishCases},
    {.name = "Gelu",
     .since = {20},
     .formula = "erf: 3 mul, 1 add, 1 erf; tanh: 6 mul, 2 add, 1 tanh per element",
     .infer = InferSameAsInput,
     .cost = CostGelu,
     .role = FusionRole::kElementwise,
     .cases = kGeluCases},
    {.name = "Swish",
     .since = {24},
     .formula =
         "x * Sigmoid(alpha * x): 1 mul (2 unless alpha = 1), 1 exp, 1 add, 1 div per element",
     .infer = InferSameAsInput,
     .cost = CostSwish,
     .role = FusionRole::kElementwise,
     .cases = kSwishCases},
    {.name = "SwiGLU",
     .since = {28},
     .formula = "Swish(a) * b: 1 mul more than Swish per element",
     .infer = InferSwiglu,
     .cost = CostSwiglu,
     .role = FusionRole::kElementwise,
     .cases = kSwigluCases},
    {.name = "PRelu",
     .since = {1, 6, 7, 9, 16},
     .formula = "x or slope * x: 1 compare, 1 mul per element",
     .infer = InferPrelu,
     .cost = CostPrelu,
     .role = FusionRole::kElementwise,
     .cases = kPreluCases},
};

}  // namespace

std::span<const OpDef> ActivationTableOps() { return kActivationTableOps; }
std::span<const OpDef> ActivationOps() { return kActivationOps; }

}  // namespace dlcost
