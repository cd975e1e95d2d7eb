#include <algorithm>

#include "estimator/core/error.h"
#include "models/operators/common.h"
#include "models/operators/families.h"
#include "models/operators/value_ops.h"

namespace dlcost {
namespace {

// Lists of tensors. Handing tensors in and out moves nothing; splitting and joining does.

using Elements = std::vector<TensorType>;

TensorType TensorOf(DType dtype, std::optional<Shape> shape) {
  TensorType type;
  type.dtype = dtype;
  type.shape = std::move(shape);
  return type;
}

// A tensor as an element keeps its value.
TensorType ElementOf(const Tensor& tensor) {
  TensorType type = tensor.type;
  type.value = tensor.value;
  return type;
}

// The sequence of these elements; `shape` stays empty unless all agree.
TensorType SequenceOf(DType dtype, Elements elements) {
  TensorType type;
  type.kind = ValueKind::kSequence;
  type.dtype = dtype;
  if (!elements.empty() && elements.front().shape &&
      std::all_of(elements.begin(), elements.end(), [&elements](const TensorType& element) {
        return element.shape == elements.front().shape;
      })) {
    type.shape = elements.front().shape;
  }
  type.elements = std::move(elements);
  return type;
}

const TensorType& InputSequence(const OpContext& ctx) {
  const TensorType& type = ctx.Input(0).type;
  if (type.kind != ValueKind::kSequence) throw Error("input 0 is not a sequence");
  return type;
}

// A position in a sequence of `length`, from input `input`; `fallback` when that is omitted.
std::size_t PositionIn(const OpContext& ctx, int input, std::size_t length, std::size_t positions,
                       std::size_t fallback) {
  if (!ctx.HasInput(input)) return fallback;
  std::int64_t position = ScalarInput(ctx, input);
  if (position < 0) position += static_cast<std::int64_t>(length);
  if (position < 0 || position >= static_cast<std::int64_t>(positions)) {
    throw Error("position {} is outside a sequence of {}", position, length);
  }
  return static_cast<std::size_t>(position);
}

void InferConstruct(OpContext& ctx) {
  RequireInputs(ctx, 1);
  Elements elements;
  for (int i = 0; i < ctx.NumInputs(); ++i) elements.push_back(ElementOf(ctx.Input(i)));
  ctx.SetOutputTensorType(0, SequenceOf(ctx.InputType(0), std::move(elements)));
}

void InferEmpty(OpContext& ctx) {
  const auto number = static_cast<int>(ctx.Int("dtype", static_cast<int>(DType::kFloat32)));
  ctx.SetOutputTensorType(0, SequenceOf(DTypeFromOnnx(number), {}));
}

// Without the length or the position: what all elements share.
void InferAt(OpContext& ctx) {
  const TensorType& sequence = InputSequence(ctx);
  if (sequence.elements && ctx.InputValue(1) != nullptr) {
    const std::size_t length = sequence.elements->size();
    TensorType element = (*sequence.elements)[PositionIn(ctx, 1, length, length, 0)];
    const ValuePtr value = std::move(element.value);
    element.value.reset();
    ctx.SetOutputTensorType(0, std::move(element));
    ctx.SetOutputValue(0, value);
    return;
  }
  ctx.SetOutputTensorType(0, TensorOf(sequence.dtype, sequence.shape));
  if (!sequence.shape) throw Unresolved("the elements of the sequence differ in shape");
}

void InferInsert(OpContext& ctx) {
  TensorType sequence = InputSequence(ctx);
  const TensorType element = ElementOf(ctx.Input(1));
  if (sequence.elements && (!ctx.HasInput(2) || ctx.InputValue(2) != nullptr)) {
    Elements elements = std::move(*sequence.elements);
    const std::size_t length = elements.size();
    const std::size_t at = PositionIn(ctx, 2, length, length + 1, length);
    elements.insert(elements.begin() + static_cast<std::ptrdiff_t>(at), element);
    TensorType longer = SequenceOf(element.dtype, std::move(elements));
    // Long lists keep what their elements share, not their length: loops grow them without end.
    if (length >= static_cast<std::size_t>(kMaxValueElements)) longer.elements.reset();
    ctx.SetOutputTensorType(0, std::move(longer));
    return;
  }
  const bool empty = sequence.elements && sequence.elements->empty();
  if (empty) sequence.shape = element.shape;
  if (sequence.shape != element.shape) sequence.shape.reset();
  sequence.elements.reset();
  ctx.SetOutputTensorType(0, std::move(sequence));
}

void InferErase(OpContext& ctx) {
  TensorType sequence = InputSequence(ctx);
  if (sequence.elements && (!ctx.HasInput(1) || ctx.InputValue(1) != nullptr)) {
    Elements elements = std::move(*sequence.elements);
    const std::size_t length = elements.size();
    if (length == 0) throw Error("the sequence is empty");
    const std::size_t at = PositionIn(ctx, 1, length, length, length - 1);
    elements.erase(elements.begin() + static_cast<std::ptrdiff_t>(at));
    ctx.SetOutputTensorType(0, SequenceOf(sequence.dtype, std::move(elements)));
    return;
  }
  sequence.elements.reset();
  ctx.SetOutputTensorType(0, std::move(sequence));
}

void InferLength(OpContext& ctx) {
  const TensorType& sequence = InputSequence(ctx);
  ctx.SetOutput(0, DType::kInt64, Shape());
  if (sequence.elements) {
    const auto length = static_cast<std::int64_t>(sequence.elements->size());
    ctx.SetOutputValue(0, Value(std::vector<std::int64_t>{length}));
  }
}

// The elements of a tensor whose position along an axis lies in [begin, end).
ValuePtr PartOf(const Value& value, const Shape& shape, std::size_t axis, std::int64_t begin,
                std::int64_t end) {
  Indices indices;
  std::size_t flat = 0;
  ForEachElement(shape, [&](const std::vector<std::int64_t>& at) {
    if (at[axis] >= begin && at[axis] < end) indices.push_back(flat);
    ++flat;
  });
  return std::make_shared<const Value>(Take(value, indices));
}

// Parts of 1 (the axis goes unless keepdims), of a given extent, or of given extents.
void InferSplitToSequence(OpContext& ctx) {
  TensorType sequence;
  sequence.kind = ValueKind::kSequence;
  sequence.dtype = ctx.InputType(0);
  ctx.SetOutputTensorType(0, sequence);
  Shape shape = ctx.InputShape(0);
  const std::size_t axis = NormalizeAxis(ctx.Int("axis", 0), shape.rank());
  const std::int64_t extent = shape[axis];
  std::vector<std::int64_t> parts;
  bool keep = true;
  std::int64_t part = 1;
  if (!ctx.HasInput(1)) {
    keep = ctx.Int("keepdims", 1) != 0;
  } else if (ctx.InputRank(1) == 0) {
    part = ScalarInput(ctx, 1);
  } else {
    parts = ctx.InputInts(1);
  }
  if (parts.empty()) {
    if (part < 1) throw Error("parts of {}", part);
    if (CeilDiv(extent, part) > Count(kMaxValueElements)) {
      throw Unresolved("the sequence has more than 4096 elements");
    }
    for (std::int64_t left = extent; left > 0; left -= part) parts.push_back(std::min(part, left));
  }
  Count sum = 0;
  for (const std::int64_t p : parts) sum += Count(p);
  if (sum != Count(extent)) throw Error("the parts add up to {}, not to {}", sum, extent);
  Elements elements;
  std::vector<std::int64_t> dims = shape.dims();
  std::int64_t begin = 0;
  for (const std::int64_t p : parts) {
    dims[axis] = p;
    elements.push_back(TensorOf(sequence.dtype, Shape(dims)));
    if (ctx.InputValue(0) != nullptr && parts.size() <= 64) {
      elements.back().value = PartOf(*ctx.InputValue(0), shape, axis, begin, begin + p);
    }
    begin += p;
    if (!keep) {
      std::vector<std::int64_t> rest = dims;
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(axis));
      elements.back().shape = Shape(std::move(rest));
    }
  }
  ctx.SetOutputTensorType(0, SequenceOf(sequence.dtype, std::move(elements)));
}

// Every element of the input goes into one part.
OpCost CostSplitToSequence(const OpContext& ctx) {
  OpCost cost;
  AddRead(cost, ctx, 0);
  cost.accesses.push_back({true, 0, AccessKind::kStream, ctx.InputBytes(0)});
  return cost;
}

void InferConcatFromSequence(OpContext& ctx) {
  const TensorType& sequence = InputSequence(ctx);
  ctx.SetOutputType(0, sequence.dtype);
  if (!sequence.elements) throw Unresolved("the length of the sequence is not known");
  if (sequence.elements->empty()) throw Error("an empty sequence cannot be joined");
  const bool stack = ctx.Int("new_axis", 0) != 0;
  std::optional<Shape> result;
  std::size_t axis = 0;
  for (const TensorType& element : *sequence.elements) {
    if (!element.shape) throw Unresolved("the shape of an element of the sequence is not known");
    std::vector<std::int64_t> dims = element.shape->dims();
    axis = NormalizeAxis(ctx.RequiredInt("axis"), dims.size(), stack);
    if (stack) dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), 1);
    if (!result) {
      result = Shape(dims);
      continue;
    }
    const Count joined = Count((*result)[axis]) + (axis < dims.size() ? dims[axis] : 0);
    if (axis < dims.size()) dims[axis] = (*result)[axis];
    if (Shape(dims) != *result) {
      throw Error("{} and {} do not join along axis {}", ToString(*result), ToString(Shape(dims)),
                  axis);
    }
    (*result)[axis] = joined.value();
  }
  ctx.SetOutput(0, sequence.dtype, std::move(*result));
}

// Joined along the first axis, values follow one another.
void ConcatFromSequenceValues(OpContext& ctx) {
  if (ctx.RequiredInt("axis") != 0) return;
  std::vector<std::int64_t> ints;
  for (const TensorType& element : *InputSequence(ctx).elements) {
    if (!element.value || !element.value->is_integer()) return;
    ints.insert(ints.end(), element.value->ints().begin(), element.value->ints().end());
  }
  SetInts(ctx, 0, std::move(ints));
}

OpCost CostConcatFromSequence(const OpContext& ctx) {
  OpCost cost;
  cost.accesses.push_back({false, 0, AccessKind::kStream, ctx.OutputBytes(0)});
  AddWrite(cost, ctx, 0);
  return cost;
}

constexpr OpCase kConstructCases[] = {
    {.what = "two tensors", .inputs = "f32[2,3] f32[4,3]", .outputs = "seq:f32([2,3];[4,3])"}};
constexpr OpCase kEmptyCases[] = {
    {.what = "of int64", .attributes = "dtype=7", .inputs = "", .outputs = "seq:i64()"}};
constexpr OpCase kAtCases[] = {{.what = "the last element",
                                .inputs = "seq:f32([2,3];[4,3]) i64[]{-1}",
                                .outputs = "f32[4,3]"}};
constexpr OpCase kInsertCases[] = {{.what = "at the front",
                                    .inputs = "seq:f32([2];[3]) f32[5] i64[]{0}",
                                    .outputs = "seq:f32([5];[2];[3])"}};
constexpr OpCase kEraseCases[] = {
    {.what = "the last one", .inputs = "seq:f32([2];[3])", .outputs = "seq:f32([2])"}};
constexpr OpCase kLengthCases[] = {
    {.what = "known", .inputs = "seq:f32([2];[3])", .outputs = "i64[]{2}"}};
constexpr OpCase kSplitToSequenceCases[] = {{.what = "parts of 2",
                                             .inputs = "f32[5,3] i64[]{2}",
                                             .outputs = "seq:f32([2,3];[2,3];[1,3])",
                                             .bytes_read = 60,
                                             .bytes_written = 60},
                                            {.what = "rows, without their axis",
                                             .attributes = "keepdims=0",
                                             .inputs = "f32[2,3]",
                                             .outputs = "seq:f32([3];[3])",
                                             .bytes_read = 24,
                                             .bytes_written = 24}};
constexpr OpCase kConcatFromSequenceCases[] = {{.what = "joined",
                                                .attributes = "axis=0",
                                                .inputs = "seq:f32([2,3];[4,3])",
                                                .outputs = "f32[6,3]",
                                                .bytes_read = 72,
                                                .bytes_written = 72},
                                               {.what = "stacked",
                                                .attributes = "axis=-1 new_axis=1",
                                                .inputs = "seq:f32([3];[3])",
                                                .outputs = "f32[3,2]",
                                                .bytes_read = 24,
                                                .bytes_written = 24}};

constexpr OpDef kSequenceOps[] = {
    {.name = "SequenceConstruct",
     .since = {11},
     .formula = kViewFormula,
     .infer = InferConstruct,
     .cost = CostView,
     .role = FusionRole::kView,
     .cases = kConstructCases,
     .integers = IntegerInputs{.passed = kEveryInput}},
    {.name = "SequenceEmpty",
     .since = {11},
     .formula = kMetadataFormula,
     .infer = InferEmpty,
     .cost = CostMetadata,
     .role = FusionRole::kView,
     .cases = kEmptyCases},
    {.name = "SequenceAt",
     .since = {11},
     .formula = kViewFormula,
     .infer = InferAt,
     .cost = CostView,
     .role = FusionRole::kView,
     .cases = kAtCases},
    {.name = "SequenceInsert",
     .since = {11},
     .formula = kViewFormula,
     .infer = InferInsert,
     .cost = CostView,
     .role = FusionRole::kView,
     .cases = kInsertCases,
     .integers = IntegerInputs{.passed = InputSet({0, 1})}},
    {.name = "SequenceErase",
     .since = {11},
     .formula = kViewFormula,
     .infer = InferErase,
     .cost = CostView,
     .role = FusionRole::kView,
     .cases = kEraseCases},
    {.name = "SequenceLength",
     .since = {11},
     .formula = kMetadataFormula,
     .infer = InferLength,
     .cost = CostMetadata,
     .role = FusionRole::kView,
     .cases = kLengthCases},
    {.name = "SplitToSequence",
     .since = {11, 24},
     .formula = "no arithmetic; reads and writes every element",
     .infer = InferSplitToSequence,
     .cost = CostSplitToSequence,
     .role = FusionRole::kMovement,
     .cases = kSplitToSequenceCases},
    {.name = "ConcatFromSequence",
     .since = {11},
     .formula = "no arithmetic; reads and writes every element",
     .infer = InferConcatFromSequence,
     .values = ConcatFromSequenceValues,
     .cost = CostConcatFromSequence,
     .role = FusionRole::kMovement,
     .cases = kConcatFromSequenceCases},
};

}  // namespace

std::span<const OpDef> SequenceOps() { return kSequenceOps; }

}  // namespace dlcost
