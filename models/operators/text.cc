#include <algorithm>

#include "estimator/core/error.h"
#include "models/operators/common.h"
#include "models/operators/families.h"

namespace dlcost {
namespace {

// Operators on strings. How long the strings are is in the data, so neither their bytes nor the
// work on them is counted; numbers that go in or out are.

constexpr std::string_view kTextNote = "the length of strings is in the data and not counted";

OpCost CostText(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  cost.note = std::string(kTextNote);
  return cost;
}

// Stop words leave the list: [c] or [1, c] becomes at most that.
void InferNormalizer(OpContext& ctx) {
  ctx.SetOutputType(0, DType::kString);
  const Shape& x = ctx.InputShape(0);
  if (x.rank() != 1 && !(x.rank() == 2 && x[0] == 1)) {
    throw Error("the input has shape {} where [C] or [1,C] is required", ToString(x));
  }
  ctx.SetOutput(0, DType::kString, x);
  if (!ctx.Strings("stopwords").empty()) ctx.MarkUpperBound(0);
}

void InferStringConcat(OpContext& ctx) {
  ctx.SetOutputType(0, DType::kString);
  ctx.SetOutput(0, DType::kString, Broadcast(ctx.InputShape(0), ctx.InputShape(1)));
}

// One more axis, as long as the longest split: at most maxsplit + 1, else only the data tells.
void InferStringSplit(OpContext& ctx) {
  ctx.SetOutputType(0, DType::kString);
  ctx.SetOutput(1, DType::kInt64, ctx.InputShape(0));
  const std::int64_t limit = ctx.Int("maxsplit", -1);
  if (limit < 0) return;  // none
  Shape y = ctx.InputShape(0);
  y.Append((Count(limit) + 1).value());
  ctx.SetOutput(0, DType::kString, std::move(y));
  ctx.MarkUpperBound(0);
}

// The substrings are strings; only their numbers have a size.
OpCost CostStringSplit(const OpContext& ctx) {
  OpCost cost;
  AddWrite(cost, ctx, 1);
  cost.note = std::string(kTextNote);
  return cost;
}

void InferMatch(OpContext& ctx) {
  ctx.SetOutputType(0, DType::kBool);
  ctx.SetOutput(0, DType::kBool, ctx.InputShape(0));
}

// [C] or [N, C] -> one number per n-gram of the vocabulary.
void InferTfIdf(OpContext& ctx) {
  ctx.SetOutputType(0, DType::kFloat32);
  const std::vector<std::int64_t> columns = ctx.RequiredInts("ngram_indexes");
  if (columns.empty()) throw Error("ngram_indexes is empty");
  const std::int64_t width = (Count(*std::max_element(columns.begin(), columns.end())) + 1).value();
  const Shape& x = ctx.InputShape(0);
  if (x.rank() > 2) throw Error("the input has rank {} where 1 or 2 is required", x.rank());
  ctx.SetOutput(0, DType::kFloat32, x.rank() == 2 ? Shape{x[0], width} : Shape{width});
}

// Every n-gram length and skip looks up each position once (class integer); weighting is 1 mul per
// output.
OpCost CostTfIdf(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const Count lengths = Count(ctx.Int("max_gram_length", 1)) - ctx.Int("min_gram_length", 1) + 1;
  const Count skips = Count(ctx.Int("max_skip_count", 0)) + 1;
  cost.work.Add(OpClass::kInteger, DType::kInt64, ctx.InputShape(0).Elements() * lengths * skips);
  if (ctx.String("mode", "TF") != "TF") {
    cost.work.Add(OpClass::kMul, DType::kFloat32, ctx.OutputShape(0).Elements());
  }
  return cost;
}

// Height, width and channels are in the encoded image: no shape but what the model declares.
void InferImageDecoder(OpContext& ctx) { ctx.SetOutputType(0, DType::kUint8); }

OpCost CostImageDecoder(const OpContext& ctx) {
  OpCost cost;
  AddRead(cost, ctx, 0);
  if (ctx.HasOutput(0) && ctx.Output(0).type.shape) AddWrite(cost, ctx, 0);
  cost.status = NodeStatus::kBounded;
  cost.note = "the work depends on the encoded image";
  return cost;
}

constexpr OpCase kStringNormalizerCases[] = {
    {.what = "lower case", .inputs = "string[3]", .outputs = "string[3]"}};
constexpr OpCase kStringConcatCases[] = {
    {.what = "broadcasts", .inputs = "string[2,1] string[3]", .outputs = "string[2,3]"}};
constexpr OpCase kStringSplitCases[] = {{.what = "at most two splits",
                                         .attributes = "maxsplit=2",
                                         .inputs = "string[4]",
                                         .outputs = "string[4,3] i64[4]",
                                         .bytes_written = 32}};
constexpr OpCase kMatchCases[] = {{.what = "one bool per string",
                                   .inputs = "string[4]",
                                   .outputs = "bool[4]",
                                   .bytes_written = 4}};
constexpr OpCase kTfIdfCases[] = {{.what = "weighted counts of 7 n-grams",
                                   .attributes = "ngram_indexes=[0,1,2,3,4,5,6] mode='TFIDF' "
                                                 "max_gram_length=2 min_gram_length=1",
                                   .inputs = "i32[2,6]",
                                   .outputs = "f32[2,7]",
                                   .flops = 14,
                                   .bytes_read = 48,
                                   .bytes_written = 56}};

constexpr OpCase kImageDecoderCases[] = {{.what = "reads the encoded image",
                                          .inputs = "u8[1000]",
                                          .outputs = "u8[?]",
                                          .bytes_read = 1000}};

constexpr std::string_view kTextFormula = "no arithmetic on numbers; strings are not counted";

constexpr OpDef kTextOps[] = {
    {.name = "StringNormalizer",
     .since = {10},
     .formula = kTextFormula,
     .infer = InferNormalizer,
     .cost = CostText,
     .cases = kStringNormalizerCases},
    {.name = "StringConcat",
     .since = {20},
     .formula = kTextFormula,
     .infer = InferStringConcat,
     .cost = CostText,
     .cases = kStringConcatCases},
    {.name = "StringSplit",
     .since = {20},
     .formula = kTextFormula,
     .infer = InferStringSplit,
     .cost = CostStringSplit,
     .cases = kStringSplitCases},
    {.name = "RegexFullMatch",
     .since = {20},
     .formula = kTextFormula,
     .infer = InferMatch,
     .cost = CostText,
     .cases = kMatchCases},
    {.name = "TfIdfVectorizer",
     .since = {9},
     .formula = "integer = inputs * n-gram lengths * skips; mul = outputs unless mode is TF",
     .infer = InferTfIdf,
     .cost = CostTfIdf,
     .cases = kTfIdfCases},
    {.name = "ImageDecoder",
     .since = {20},
     .formula = "bytes alone: the work depends on the encoded image",
     .infer = InferImageDecoder,
     .cost = CostImageDecoder,
     .cases = kImageDecoderCases},
};

}  // namespace

std::span<const OpDef> TextOps() { return kTextOps; }

}  // namespace dlcost
