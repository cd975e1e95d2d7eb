#include <algorithm>

#include "estimator/core/error.h"
#include "models/operators/families.h"
#include "models/operators/ml.h"

namespace dlcost {
namespace {

// Preparation of features: look-ups, scaling, selection. Strings and maps have no size in the file
// and count as no bytes.

std::int64_t Length(const OpContext& ctx, std::string_view strings, std::string_view ints) {
  return std::max(static_cast<std::int64_t>(ctx.Strings(strings).size()),
                  static_cast<std::int64_t>(ctx.Ints(ints).size()));
}

// x[..., f] and indices [k] -> [..., k]; a vector is one row.
void InferExtractor(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  Shape y = ctx.InputShape(0);
  if (y.rank() == 0) throw Error("the input is a scalar");
  if (y.rank() == 1) y = Shape{1, y[0]};
  y[y.rank() - 1] = ctx.InputShape(1).Elements().value();
  ctx.SetOutput(0, ctx.InputType(0), std::move(y));
}

OpCost CostExtractor(const OpContext& ctx) {
  OpCost cost;
  AddPartialRead(cost, ctx, 0,
                 std::min(ctx.OutputShape(0).Elements(), ctx.InputShape(0).Elements()),
                 AccessKind::kGather);
  AddRead(cost, ctx, 1);
  AddWrite(cost, ctx, 0);
  return cost;
}

OpCost CostOneCompare(const OpContext& ctx) { return CostPerElement(ctx, {.compare = 1}); }

void InferFloats(OpContext& ctx) { ctx.SetOutput(0, DType::kFloat32, ctx.InputShape(0)); }

OpCost CostScaler(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const Count elements = ctx.InputShape(0).Elements();
  AddPerElement(cost.work, {.add = 1, .mul = 1}, DType::kFloat32, elements);
  cost.nest = ElementwiseNest{elements};
  return cost;
}

// Rows divided by their largest element, their sum of magnitudes, or their length.
OpCost CostNormalizer(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const MlRows x = RowsOf(ctx);
  const Count rows = x.rows;
  const Count elements = rows * x.features;
  const Count combinations = elements - (elements > Count(0) ? rows : Count(0));
  const auto add = [&](OpClass op_class, Count count) {
    cost.work.Add(op_class, DType::kFloat32, count);
  };
  const std::string norm = ctx.String("norm", "MAX");
  if (norm == "MAX") {
    add(OpClass::kCompare, combinations);
  } else if (norm == "L1") {
    add(OpClass::kCompare, elements);
    add(OpClass::kAdd, combinations);
  } else if (norm == "L2") {
    add(OpClass::kMul, elements);
    add(OpClass::kAdd, combinations);
    add(OpClass::kSqrt, rows);
  } else {
    throw Error("norm is '{}'; there are MAX, L1 and L2", Printable(norm));
  }
  add(OpClass::kDiv, elements);
  cost.nest = ReduceNest{rows, x.features};
  return cost;
}

void InferFeatureVectorizer(OpContext& ctx) {
  RequireInputs(ctx, 1);
  Count width = 0;
  std::int64_t rows = 1;
  const std::vector<std::int64_t> widths = ctx.Ints("inputdimensions");
  for (int i = 0; i < ctx.NumInputs(); ++i) {
    const Shape& x = ctx.InputShape(i);
    if (x.rank() == 0) throw Error("input {} is a scalar", i);
    if (x.rank() > 1) rows = x[0];
    const auto at = static_cast<std::size_t>(i);
    width += at < widths.size() ? Count(widths[at]) : x.Product(x.rank() > 1 ? 1 : 0, x.rank());
  }
  ctx.SetOutput(0, DType::kFloat32, Shape{rows, width.value()});
}

// Categories are looked up in a hash table: 1 look-up (class integer) per element.
OpCost CostLookup(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const Count elements = ctx.InputShape(0).Elements();
  cost.work.Add(OpClass::kInteger, DType::kInt64, elements);
  cost.nest = ElementwiseNest{elements};
  return cost;
}

void InferCategoryMapper(OpContext& ctx) {
  const DType type = ctx.InputType(0) == DType::kString ? DType::kInt64 : DType::kString;
  ctx.SetOutput(0, type, ctx.InputShape(0));
}

// Version 1 goes between strings and int64; since 2 the attribute that holds the values tells.
void InferLabelEncoder(OpContext& ctx) {
  DType type = DType::kUndefined;
  if (const StoredTensor* values = ctx.TensorAttribute("values_tensor")) {
    type = values->dtype;
  } else if (ctx.HasAttribute("values_strings")) {
    type = DType::kString;
  } else if (ctx.HasAttribute("values_floats")) {
    type = DType::kFloat32;
  } else if (ctx.HasAttribute("values_int64s")) {
    type = DType::kInt64;
  } else if (ctx.HasAttribute("classes_strings")) {
    type = ctx.InputType(0) == DType::kString ? DType::kInt64 : DType::kString;
  } else {
    throw Error("no attribute gives the values");
  }
  ctx.SetOutput(0, type, ctx.InputShape(0));
}

void InferOneHotEncoder(OpContext& ctx) {
  Shape y = ctx.InputShape(0);
  y.Append(Length(ctx, "cats_strings", "cats_int64s"));
  ctx.SetOutput(0, DType::kFloat32, std::move(y));
}

// Columns of a map, in the order of the vocabulary.
void InferDictVectorizer(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.Input(0).type.dtype);
  ctx.SetOutput(0, ctx.Input(0).type.dtype,
                Shape{1, Length(ctx, "string_vocabulary", "int64_vocabulary")});
}

OpCost CostFromMap(const OpContext& ctx) {
  OpCost cost;
  if (Bits(ctx.OutputType(0)) > 0 && ctx.Output(0).type.shape) AddWrite(cost, ctx, 0);
  cost.note = "maps have no size in the file and are not counted";
  return cost;
}

void InferCastMap(OpContext& ctx) {
  const std::string to = ctx.String("cast_to", "TO_FLOAT");
  const DType type = to == "TO_FLOAT"    ? DType::kFloat32
                     : to == "TO_STRING" ? DType::kString
                     : to == "TO_INT64"  ? DType::kInt64
                                         : DType::kUndefined;
  if (type == DType::kUndefined) throw Error("cast_to is '{}'", Printable(to));
  ctx.SetOutputType(0, type);
  // A dense map has as many columns as entries, which the data tells.
  if (ctx.String("map_form", "DENSE") == "SPARSE") {
    ctx.SetOutput(0, type, Shape{1, ctx.Int("max_map", 1)});
  }
}

// A list with one map from label to score per row.
void InferZipMap(OpContext& ctx) {
  TensorType type;
  type.kind = ValueKind::kSequence;
  type.dtype = ctx.InputType(0);
  TensorType map;
  map.kind = ValueKind::kMap;
  map.dtype = type.dtype;
  const std::int64_t rows = RowsOf(ctx).rows;
  if (rows <= kMaxValueElements) {
    type.elements.emplace(static_cast<std::size_t>(rows), map);
  }
  ctx.SetOutputTensorType(0, std::move(type));
}

OpCost CostZipMap(const OpContext& ctx) {
  OpCost cost;
  AddRead(cost, ctx, 0);
  cost.accesses.push_back({true, 0, AccessKind::kStream, ctx.InputBytes(0)});
  return cost;
}

constexpr OpCase kExtractorCases[] = {{.what = "two columns",
                                       .inputs = "f32[3,4] i64[2]",
                                       .outputs = "f32[3,2]",
                                       .bytes_read = 40,
                                       .bytes_written = 24}};
constexpr OpCase kBinarizerCases[] = {SixFloats(6)};
constexpr OpCase kImputerCases[] = {SixFloats(6)};
constexpr OpCase kScalerCases[] = {SixFloats(12)};
constexpr OpCase kNormalizerCases[] = {SixFloats(18, "norm='L2'"), SixFloats(10)};
constexpr OpCase kVectorizerCases[] = {{.what = "columns side by side",
                                        .inputs = "f32[3,2] i64[3,1]",
                                        .outputs = "f32[3,3]",
                                        .bytes_read = 48,
                                        .bytes_written = 36}};
constexpr OpCase kMapperCases[] = {{.what = "strings to numbers",
                                    .inputs = "string[3]",
                                    .outputs = "i64[3]",
                                    .bytes_written = 24}};
constexpr OpCase kEncoderCases[] = {{.what = "numbers to numbers",
                                     .attributes = "keys_int64s=[1,2] values_floats=[0.5,1.5]",
                                     .inputs = "i64[3]",
                                     .outputs = "f32[3]",
                                     .bytes_read = 24,
                                     .bytes_written = 12}};
constexpr OpCase kOneHotEncoderCases[] = {{.what = "3 categories",
                                           .attributes = "cats_int64s=[4,5,6]",
                                           .inputs = "i64[2,1]",
                                           .outputs = "f32[2,1,3]",
                                           .bytes_read = 16,
                                           .bytes_written = 24}};
constexpr OpCase kDictCases[] = {{.what = "a map with a vocabulary of 3",
                                  .attributes = "string_vocabulary=['a','b','c']",
                                  .inputs = "f32[?]",
                                  .outputs = "f32[1,3]",
                                  .bytes_written = 12}};
constexpr OpCase kCastMapCases[] = {{.what = "sparse: as wide as it may be",
                                     .attributes = "map_form='SPARSE' max_map=5",
                                     .inputs = "f32[?]",
                                     .outputs = "f32[1,5]",
                                     .bytes_written = 20}};
constexpr OpCase kZipMapCases[] = {{.what = "a map per row",
                                    .inputs = "f32[2,3]",
                                    .outputs = "seq:f32([?];[?])",
                                    .bytes_read = 24,
                                    .bytes_written = 24}};

constexpr std::string_view kLookupFormula = "integer = inputs (1 look-up each)";
constexpr std::string_view kMoveFormula = "no arithmetic; reads and writes what it takes";

constexpr OpDef kMlFeatureOps[] = {
    {.name = "ArrayFeatureExtractor",
     .domain = kMlDomain,
     .formula = kMoveFormula,
     .infer = InferExtractor,
     .cost = CostExtractor,
     .role = FusionRole::kMovement,
     .cases = kExtractorCases},
    {.name = "Binarizer",
     .domain = kMlDomain,
     .formula = "compares = inputs",
     .infer = InferSameAsInput,
     .cost = CostOneCompare,
     .role = FusionRole::kElementwise,
     .cases = kBinarizerCases},
    {.name = "Imputer",
     .domain = kMlDomain,
     .formula = "compares = inputs",
     .infer = InferSameAsInput,
     .cost = CostOneCompare,
     .role = FusionRole::kElementwise,
     .cases = kImputerCases},
    {.name = "Scaler",
     .domain = kMlDomain,
     .formula = "(x - offset) * scale: 1 add, 1 mul per element",
     .infer = InferFloats,
     .cost = CostScaler,
     .role = FusionRole::kElementwise,
     .cases = kScalerCases},
    {.name = "Normalizer",
     .domain = kMlDomain,
     .formula =
         "per row of n: MAX n - 1 compares; L1 n compares, n - 1 add; L2 n mul, n - 1 add, 1 "
         "sqrt; then n div",
     .infer = InferFloats,
     .cost = CostNormalizer,
     .role = FusionRole::kNormalization,
     .cases = kNormalizerCases},
    {.name = "FeatureVectorizer",
     .domain = kMlDomain,
     .formula = kMoveFormula,
     .infer = InferFeatureVectorizer,
     .cost = CostMove,
     .role = FusionRole::kMovement,
     .cases = kVectorizerCases},
    {.name = "CategoryMapper",
     .domain = kMlDomain,
     .formula = kLookupFormula,
     .infer = InferCategoryMapper,
     .cost = CostLookup,
     .cases = kMapperCases},
    {.name = "LabelEncoder",
     .domain = kMlDomain,
     .since = {1, 2, 4},
     .formula = kLookupFormula,
     .infer = InferLabelEncoder,
     .cost = CostLookup,
     .cases = kEncoderCases},
    {.name = "OneHotEncoder",
     .domain = kMlDomain,
     .formula = kLookupFormula,
     .infer = InferOneHotEncoder,
     .cost = CostLookup,
     .cases = kOneHotEncoderCases},
    {.name = "DictVectorizer",
     .domain = kMlDomain,
     .formula = "no arithmetic; writes its output",
     .infer = InferDictVectorizer,
     .cost = CostFromMap,
     .cases = kDictCases},
    {.name = "CastMap",
     .domain = kMlDomain,
     .formula = "no arithmetic; writes its output",
     .infer = InferCastMap,
     .cost = CostFromMap,
     .cases = kCastMapCases},
    {.name = "ZipMap",
     .domain = kMlDomain,
     .formula = "no arithmetic; reads and writes every score",
     .infer = InferZipMap,
     .cost = CostZipMap,
     .cases = kZipMapCases},
};

}  // namespace

std::span<const OpDef> MlFeatureOps() { return kMlFeatureOps; }

}  // namespace dlcost
