#include <algorithm>

#include "estimator/core/error.h"
#include "models/operators/common.h"
#include "models/operators/families.h"

namespace dlcost {
namespace {

// ONNX Runtime's operators on words and tokens. Strings have no bytes here, because their length is
// in the data; comparisons of tokens are counted.

// Strings [C] or [N, C] to tokens [C, D] or [N, C, D], D as many as the longest string has.
void InferTokenizer(OpContext& ctx) { ctx.SetOutputType(0, DType::kString); }

OpCost CostTokenizer(const OpContext&) {
  OpCost cost;
  cost.note = "strings are in the data and not counted";
  return cost;
}

// Inputs: words [N, characters], W [filters, 1, window, size], B [filters], C [characters, size].
// Each word: look up its characters, convolve over them, tanh, the largest of all positions.
struct CharConv {
  std::int64_t words, length, filters, window, size;
  Count Positions() const { return Count(length) - Count(window) + Count(1); }
};

CharConv ReadCharConv(const OpContext& ctx) {
  RequireRank(ctx, 0, 2);
  RequireRank(ctx, 1, 4);
  RequireRank(ctx, 3, 2);
  CharConv conv = {ctx.InputDim(0, 0), ctx.InputDim(0, 1), ctx.InputDim(1, 0), ctx.InputDim(1, 2),
                   ctx.InputDim(1, 3)};
  if (conv.size != ctx.InputDim(3, 1) || conv.length < conv.window) {
    throw Error("words {} and characters {} do not fit the filters {}", ToString(ctx.InputShape(0)),
                ToString(ctx.InputShape(3)), ToString(ctx.InputShape(1)));
  }
  return conv;
}

void InferCharConv(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(1));
  const CharConv conv = ReadCharConv(ctx);
  ctx.SetOutput(0, ctx.InputType(1), {conv.words, conv.filters});
}

OpCost CostCharConv(const OpContext& ctx) {
  OpCost cost;
  const CharConv conv = ReadCharConv(ctx);
  const DType type = ctx.InputType(1);
  const Count outputs = Count(conv.words) * conv.filters, results = outputs * conv.Positions();
  for (const int i : {0, 1, 2}) AddRead(cost, ctx, i);
  AddPartialRead(cost, ctx, 3, ctx.InputShape(0).Elements() * conv.size, AccessKind::kGather);
  AddWrite(cost, ctx, 0);
  cost.work.Add(OpClass::kMac, type, results * conv.window * conv.size);
  cost.work.Add(OpClass::kAdd, type, results);
  cost.work.Add(OpClass::kTrig, type, results);
  cost.work.Add(OpClass::kCompare, type, results - outputs);
  return cost;
}

// Inputs: source tokens [s], current tokens [c], the previous match, predicted tokens [p] or
// nothing. All predicted ones are appended at most. Counted: 1 comparison per predicted token, and
// every position of the source with the last n-gram of each size.
void InferBifurcation(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(1));
  ctx.SetOutput(1, ctx.InputType(2), ctx.InputShape(2));
  Count tokens = ctx.InputShape(1).Elements();
  if (ctx.HasInput(3)) {
    tokens += ctx.InputShape(3).Elements();
    ctx.MarkUpperBound(0);
  }
  ctx.SetOutput(0, ctx.InputType(1), Shape{tokens.value()});
}

OpCost CostBifurcation(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const Count least = ctx.Int("min_ngram_size", 1), most = ctx.Int("max_ngram_size", 3);
  if (least < Count(1) || most < least) throw Error("n-grams of {} to {} tokens", least, most);
  const Count sizes = (most + least) * (most - least + Count(1)) / 2;
  const Count predicted = ctx.HasInput(3) ? ctx.InputShape(3).Elements() : Count(0);
  cost.work.Add(OpClass::kCompare, ctx.InputType(0),
                ctx.InputShape(0).Elements() * sizes + predicted);
  return cost;
}

constexpr OpCase kTokenizerCases[] = {{.what = "how many tokens is in the data",
                                       .attributes = "mark=0 mincharnum=1 separators=['.']",
                                       .inputs = "string[3]",
                                       .outputs = "string[?]"}};

// 2 words of 8 - 3 + 1 positions, 5 filters of 3 * 4 taps.
constexpr OpCase kCharConvCases[] = {{.what = "2 words of 8 characters, windows of 3",
                                      .inputs = "i32[2,8] w:f32[5,1,3,4] w:f32[5] w:f32[100,4]",
                                      .outputs = "f32[2,5]",
                                      .macs = 60 * 12,
                                      .flops = 1440 + 60 + 50,
                                      .bytes_read = 64 + 240 + 20 + 256,
                                      .bytes_written = 40}};

constexpr OpCase kBifurcationCases[] = {
    {.what = "n-grams of 1 to 3 tokens: 7 * 6 comparisons, 4 predictions",
     .inputs = "i64[7] i64[3] i64[] i64[4]",
     .outputs = "i64[7] i64[]",
     .flops = 46,
     .bytes_read = 8 * 15,
     .bytes_written = 8 * 8}};

constexpr OpDef kContribTextOps[] = {
    {.name = "Tokenizer",
     .domain = "com.microsoft",
     .formula = "no arithmetic on numbers; strings are not counted",
     .infer = InferTokenizer,
     .cost = CostTokenizer,
     .cases = kTokenizerCases},
    {.name = "WordConvEmbedding",
     .domain = "com.microsoft",
     .formula = "MACs = words * positions * filters * window * size; 1 add, 1 tanh, 1 compare each",
     .infer = InferCharConv,
     .cost = CostCharConv,
     .cases = kCharConvCases},
    {.name = "BifurcationDetector",
     .domain = "com.microsoft",
     .formula = "compares = source * sum of the n-gram sizes + predicted",
     .infer = InferBifurcation,
     .cost = CostBifurcation,
     .cases = kBifurcationCases},
};

}  // namespace

std::span<const OpDef> ContribTextOps() { return kContribTextOps; }

}  // namespace dlcost
