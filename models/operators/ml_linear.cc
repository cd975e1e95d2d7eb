#include <numeric>

#include "estimator/core/error.h"
#include "models/operators/families.h"
#include "models/operators/ml.h"

namespace dlcost {
namespace {

// Linear models and support vector machines. Parameters are attributes, float32, each read once per
// run; work is done in float32.

// Rows of coefficients that are multiplied: one for each intercept, the first ones where the file
// stores more.
std::int64_t Machines(const OpContext& ctx, std::int64_t features) {
  const auto coefficients = static_cast<std::int64_t>(ctx.Floats("coefficients").size());
  const auto intercepts = static_cast<std::int64_t>(ctx.Floats("intercepts").size());
  if (features == 0 || coefficients % features != 0) {
    throw Error("{} coefficients do not divide by {} features", coefficients, features);
  }
  const std::int64_t stored = coefficients / features;
  if (intercepts > stored) {
    throw Error("{} intercepts need as many rows of coefficients, there are {}", intercepts,
                stored);
  }
  return intercepts > 0 ? intercepts : stored;
}

void InferLinearClassifier(OpContext& ctx) {
  const MlRows x = RowsOf(ctx);
  ctx.SetOutputType(1, DType::kFloat32);
  const std::int64_t classes = InferLabels(ctx, x.rows, "classlabels_ints");
  const std::int64_t machines = Machines(ctx, x.features);
  // One row of coefficients tells two classes apart; there is still a score for each.
  const std::int64_t scores = machines == 1 ? std::max<std::int64_t>(classes, 1) : machines;
  ctx.SetOutput(1, DType::kFloat32, Shape{x.rows, scores});
}

OpCost CostLinearClassifier(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const MlRows x = RowsOf(ctx);
  const Count rows = x.rows;
  const std::int64_t machines = Machines(ctx, x.features);
  AddHeldFloats(cost, ctx, {"coefficients", "intercepts"});
  cost.work.Add(OpClass::kMac, DType::kFloat32, rows * machines * x.features);
  cost.work.Add(OpClass::kAdd, DType::kFloat32,
                rows * static_cast<std::int64_t>(ctx.Floats("intercepts").size()));
  AddPostTransform(cost, ctx.String("post_transform", "NONE"), rows * machines);
  // The label is that of the largest score.
  const std::int64_t scores = ctx.HasOutput(1) ? ctx.OutputShape(1)[1] : machines;
  cost.work.Add(OpClass::kCompare, DType::kFloat32, rows * std::max<std::int64_t>(0, scores - 1));
  cost.nest = GemmNest{.batch = 1, .m = rows, .n = machines, .k = x.features};
  return cost;
}

void InferLinearRegressor(OpContext& ctx) {
  ctx.SetOutput(0, DType::kFloat32, Shape{RowsOf(ctx).rows, ctx.Int("targets", 1)});
}

OpCost CostLinearRegressor(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const Count rows = RowsOf(ctx).rows;
  const std::int64_t targets = ctx.Int("targets", 1);
  AddHeldFloats(cost, ctx, {"coefficients", "intercepts"});
  cost.work.Add(OpClass::kMac, DType::kFloat32, rows * targets * RowsOf(ctx).features);
  cost.work.Add(OpClass::kAdd, DType::kFloat32,
                rows * static_cast<std::int64_t>(ctx.Floats("intercepts").size()));
  AddPostTransform(cost, ctx.String("post_transform", "NONE"), rows * targets);
  cost.nest = GemmNest{.batch = 1, .m = rows, .n = targets, .k = RowsOf(ctx).features};
  return cost;
}

// The kernel of every row with every support vector of `features` numbers.
void AddKernel(OpCost& cost, const std::string& kernel, Count pairs, Count features) {
  const auto add = [&](OpClass op_class, Count count) {
    cost.work.Add(op_class, DType::kFloat32, count);
  };
  if (kernel == "RBF") {
    // exp(-gamma * sum (x - v)^2)
    add(OpClass::kAdd, pairs * features);
    add(OpClass::kMac, pairs * features);
    add(OpClass::kMul, pairs);
    add(OpClass::kExp, pairs);
    return;
  }
  add(OpClass::kMac, pairs * features);
  if (kernel == "LINEAR") return;
  if (kernel != "POLY" && kernel != "SIGMOID") {
    throw Error("kernel_type is '{}'; there are LINEAR, POLY, RBF and SIGMOID", Printable(kernel));
  }
  // gamma * x.v + coef0, to a power or through tanh.
  add(OpClass::kMul, pairs);
  add(OpClass::kAdd, pairs);
  if (kernel == "SIGMOID") {
    add(OpClass::kTrig, pairs);
  } else {
    add(OpClass::kExp, pairs);
    add(OpClass::kLog, pairs);
  }
}

void InferSvmRegressor(OpContext& ctx) {
  ctx.SetOutput(0, DType::kFloat32, Shape{RowsOf(ctx).rows, 1});
}

OpCost CostSvmRegressor(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const MlRows x = RowsOf(ctx);
  const Count rows = x.rows;
  const std::int64_t supports = ctx.Int("n_supports", 0);
  AddHeldFloats(cost, ctx, {"coefficients", "support_vectors", "rho"});
  if (supports > 0) {
    AddKernel(cost, ctx.String("kernel_type", "LINEAR"), rows * supports, x.features);
    cost.work.Add(OpClass::kMac, DType::kFloat32, rows * supports);
  } else {
    AddKernel(cost, ctx.String("kernel_type", "LINEAR"), rows, x.features);
  }
  cost.work.Add(OpClass::kAdd, DType::kFloat32, rows);
  if (ctx.Int("one_class", 0) != 0) cost.work.Add(OpClass::kCompare, DType::kFloat32, rows);
  AddPostTransform(cost, ctx.String("post_transform", "NONE"), rows);
  return cost;
}

void InferSvmClassifier(OpContext& ctx) {
  const MlRows x = RowsOf(ctx);
  ctx.SetOutputType(1, DType::kFloat32);
  const std::int64_t classes = InferLabels(ctx, x.rows, "classlabels_ints");
  const auto machines = static_cast<std::int64_t>(ctx.Floats("rho").size());
  const bool probabilities = !ctx.Floats("prob_a").empty();
  const bool vectors = !ctx.Ints("vectors_per_class").empty();
  // Without probabilities each pair of classes has a score of its own.
  const std::int64_t scores = probabilities || !vectors || classes <= 2 ? classes : machines;
  ctx.SetOutput(1, DType::kFloat32, Shape{x.rows, scores});
}

// One machine per pair of classes; each coefficient is used once.
OpCost CostSvmClassifier(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const MlRows x = RowsOf(ctx);
  const Count rows = x.rows;
  const auto machines = static_cast<std::int64_t>(ctx.Floats("rho").size());
  const auto coefficients = static_cast<std::int64_t>(ctx.Floats("coefficients").size());
  const std::vector<std::int64_t> per_class = ctx.Ints("vectors_per_class");
  const std::string kernel = ctx.String("kernel_type", "LINEAR");
  AddHeldFloats(cost, ctx, {"coefficients", "support_vectors", "rho", "prob_a", "prob_b"});
  if (per_class.empty()) {
    // A linear machine per class: its coefficients are the support vectors.
    AddKernel(cost, kernel, rows * (Count(coefficients) / std::max<std::int64_t>(1, x.features)),
              x.features);
  } else {
    Count supports = 0;
    for (const std::int64_t vectors : per_class) supports += Count(vectors);
    AddKernel(cost, kernel, rows * supports, x.features);
    cost.work.Add(OpClass::kMac, DType::kFloat32, rows * coefficients);
  }
  cost.work.Add(OpClass::kAdd, DType::kFloat32, rows * machines);
  cost.work.Add(OpClass::kCompare, DType::kFloat32, rows * machines);  // votes
  if (!ctx.Floats("prob_a").empty()) {
    // Platt's logistic of a * score + b per machine.
    AddPerElement(cost.work, {.add = 2, .mul = 1, .div = 1, .exp = 1}, DType::kFloat32,
                  rows * machines);
  }
  AddPostTransform(cost, ctx.String("post_transform", "NONE"), rows * machines);
  return cost;
}

constexpr OpCase kLinearClassifierCases[] = {
    {.what = "3 classes of 2 features: 6 MACs, 3 add, 2 compares per row",
     .attributes = "coefficients=[1.0,2.0,3.0,4.0,5.0,6.0] intercepts=[1.0,2.0,3.0] "
                   "classlabels_ints=[0,1,2]",
     .inputs = "f32[4,2]",
     .outputs = "i64[4] f32[4,3]",
     .macs = 24,
     .flops = 68,
     .bytes_read = 32 + 4 * 9,
     .bytes_written = 80},
    {.what = "coefficients of 6 classes, intercepts and labels of 3: the first 3 rows",
     .attributes = "coefficients=[1.0,2.0,3.0,4.0,5.0,6.0,7.0,8.0,9.0,10.0,11.0,12.0] "
                   "intercepts=[1.0,2.0,3.0] classlabels_ints=[0,1,2]",
     .inputs = "f32[3,2]",
     .outputs = "i64[3] f32[3,3]",
     .macs = 18,
     .flops = 51,
     .bytes_read = 24 + 4 * 15,
     .bytes_written = 60},
    {.what = "one row tells 2 classes apart",
     .attributes = "coefficients=[1.0,2.0] intercepts=[1.0] classlabels_ints=[0,1]",
     .inputs = "f32[4,2]",
     .outputs = "i64[4] f32[4,2]",
     .macs = 8,
     .flops = 24,
     .bytes_read = 32 + 4 * 3,
     .bytes_written = 64}};
constexpr OpCase kLinearRegressorCases[] = {
    {.what = "2 targets of 2 features",
     .attributes = "coefficients=[1.0,2.0,3.0,4.0] intercepts=[1.0,2.0] targets=2",
     .inputs = "f32[4,2]",
     .outputs = "f32[4,2]",
     .macs = 16,
     .flops = 40,
     .bytes_read = 32 + 4 * 6,
     .bytes_written = 32}};
// 3 vectors of 2 features: 6 add, 6 MACs, 3 mul, 3 exp; sum 3 MACs; rho 1 add.
constexpr OpCase kSvmRegressorCases[] = {
    {.what = "3 support vectors, RBF",
     .attributes = "n_supports=3 kernel_type='RBF' coefficients=[1.0,2.0,3.0] rho=[1.0] "
                   "support_vectors=[1.0,2.0,3.0,4.0,5.0,6.0]",
     .inputs = "f32[1,2]",
     .outputs = "f32[1,1]",
     .macs = 9,
     .flops = 28,
     .bytes_read = 8 + 4 * 10,
     .bytes_written = 4}};
// Kernel 4 * 2 MACs, decision 4 MACs, 1 add, 1 compare per row.
constexpr OpCase kSvmClassifierCases[] = {
    {.what = "2 classes, 4 support vectors, linear",
     .attributes = "vectors_per_class=[2,2] coefficients=[1.0,2.0,3.0,4.0] rho=[1.0] "
                   "support_vectors=[1.0,2.0,3.0,4.0,5.0,6.0,7.0,8.0] classlabels_ints=[0,1]",
     .inputs = "f32[3,2]",
     .outputs = "i64[3] f32[3,2]",
     .macs = 36,
     .flops = 78,
     .bytes_read = 24 + 4 * 13,
     .bytes_written = 48}};

constexpr OpDef kMlLinearOps[] = {
    {.name = "LinearClassifier",
     .domain = kMlDomain,
     .formula = "MACs = rows * classes (1 of 2) * features; add = rows * intercepts; compares = "
                "rows * (classes - 1); post_transform",
     .infer = InferLinearClassifier,
     .cost = CostLinearClassifier,
     .cases = kLinearClassifierCases},
    {.name = "LinearRegressor",
     .domain = kMlDomain,
     .formula = "MACs = rows * targets * features; add = rows * intercepts; post_transform",
     .infer = InferLinearRegressor,
     .cost = CostLinearRegressor,
     .cases = kLinearRegressorCases},
    {.name = "SVMRegressor",
     .domain = kMlDomain,
     .formula = "per row and support vector a kernel of `features` MACs, and 1 MAC",
     .infer = InferSvmRegressor,
     .cost = CostSvmRegressor,
     .cases = kSvmRegressorCases},
    {.name = "SVMClassifier",
     .domain = kMlDomain,
     .formula = "per row and support vector a kernel of `features` MACs; per row 1 MAC per "
                "coefficient, 1 add and 1 compare per pair of classes",
     .infer = InferSvmClassifier,
     .cost = CostSvmClassifier,
     .cases = kSvmClassifierCases},
};

}  // namespace

std::span<const OpDef> MlLinearOps() { return kMlLinearOps; }

}  // namespace dlcost
