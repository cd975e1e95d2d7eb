#include <algorithm>
#include <array>
#include <vector>

#include "estimator/core/error.h"
#include "models/operators/common.h"
#include "models/operators/families.h"

namespace dlcost {
namespace {

// Operators of the package onnxruntime-extensions: what stands before and behind a network in the
// same file (tokenizers, decoders of images and sound, strings). Output types are those that the
// package registers. Most shapes are in the data: then a file's own declarations tell them, if any.
// Bytes are those of the numbers that go in and out, strings have none; work beyond moving strings
// is not known from shapes.

constexpr std::string_view kDomains[] = {"ai.onnx.contrib", "com.microsoft.extensions"};

enum class Sizes {
  kData,       // in the data
  kFirst,      // every output has the shape of input 0
  kBroadcast,  // of inputs 0 and 1
  kIndices,    // a sparse matrix: indices and values in the data, then its two extents
};

struct Extension {
  std::string_view name;
  Sizes sizes;
  std::string_view depends_on;  // what the work depends on, "" where there is none on numbers
  std::array<DType, 4> types;   // of the outputs
  OpCase example;
};

constexpr DType kI64 = DType::kInt64, kI32 = DType::kInt32, kText = DType::kString,
                kF32 = DType::kFloat32, kU8 = DType::kUint8;

constexpr std::string_view kNothing = "", kTokens = "the strings", kImage = "the image",
                           kSound = "the sound", kNumbers = "the data";

constexpr OpCase ExtensionCase(std::string_view what, std::string_view inputs,
                               std::string_view outputs, std::int64_t bytes_read,
                               std::int64_t bytes_written = 0) {
  return {.what = what,
          .inputs = inputs,
          .outputs = outputs,
          .bytes_read = bytes_read,
          .bytes_written = bytes_written};
}

constexpr OpCase kSameText = ExtensionCase("the same shape", "string[2,3]", "string[2,3]", 0);
constexpr OpCase kReplace =
    ExtensionCase("the same shape", "string[3] string[1] string[1]", "string[3]", 0);
constexpr OpCase kDecode = ExtensionCase("reads the tokens", "i64[10]", "string[?]", 80);

constexpr Extension kExtensions[] = {
    {"StringUpper", Sizes::kFirst, kNothing, {kText}, kSameText},
    {"StringLower", Sizes::kFirst, kNothing, {kText}, kSameText},
    {"StringStrip", Sizes::kFirst, kNothing, {kText}, kSameText},
    {"StringMapping", Sizes::kFirst, kNothing, {kText}, kSameText},
    {"StringLength",
     Sizes::kFirst,
     kNothing,
     {kI64},
     ExtensionCase("one length per string", "string[2,3]", "i64[2,3]", 0, 48)},
    {"StringConcat",
     Sizes::kFirst,
     kNothing,
     {kText},
     ExtensionCase("two by two", "string[3] string[3]", "string[3]", 0)},
    {"StringEqual",
     Sizes::kBroadcast,
     kNothing,
     {DType::kBool},
     ExtensionCase("broadcasts", "string[2,1] string[3]", "bool[2,3]", 0, 6)},
    {"StringRegexReplace", Sizes::kFirst, kNothing, {kText}, kReplace},
    {"StringECMARegexReplace", Sizes::kFirst, kNothing, {kText}, kReplace},
    {"StringToHashBucket",
     Sizes::kFirst,
     kNothing,
     {kI64},
     ExtensionCase("one bucket per string", "string[3] i64[1]", "i64[3]", 8, 24)},
    {"StringToHashBucketFast",
     Sizes::kFirst,
     kNothing,
     {kI64},
     ExtensionCase("one bucket per string", "string[3] i64[1]", "i64[3]", 8, 24)},
    {"StringJoin",
     Sizes::kData,
     kNothing,
     {kText},
     ExtensionCase("an axis less", "string[2,3] string[1] i64[]", "string[?]", 8)},
    {"StringSplit",
     Sizes::kIndices,
     kNothing,
     {kI64, kText, kI64},
     ExtensionCase("a sparse tensor of words", "string[2] string[1] bool[1]",
                   "i64[?] string[?] i64[2]", 1, 16)},
    {"StringRegexSplitWithOffsets",
     Sizes::kData,
     kNothing,
     {kText, kI64, kI64, kI64},
     ExtensionCase("words and where they are", "string[2] string[1] string[1]",
                   "string[?] i64[?] i64[?] i64[?]", 0)},
    {"StringECMARegexSplitWithOffsets",
     Sizes::kData,
     kNothing,
     {kText, kI64, kI64, kI64},
     ExtensionCase("words and where they are", "string[2] string[1] string[1]",
                   "string[?] i64[?] i64[?] i64[?]", 0)},
    {"StringToVector",
     Sizes::kData,
     kNothing,
     {kI64},
     ExtensionCase("looks strings up", "string[3]", "i64[?]", 0)},
    {"VectorToString", Sizes::kData, kNothing, {kText}, kDecode},
    {"StringRaggedTensorToDense",
     Sizes::kData,
     kNothing,
     {kText},
     ExtensionCase("fills rows up", "i64[3] string[6] i64[1] string[1]", "string[?]", 32)},
    {"MaskedFill",
     Sizes::kData,
     kNothing,
     {kText},
     ExtensionCase("keeps those of a mask", "string[3] bool[3]", "string[?]", 3)},
    {"GPT2Tokenizer",
     Sizes::kData,
     kTokens,
     {kI64, kI64, kI64},
     ExtensionCase("a row of tokens per string", "string[2]", "i64[?] i64[?] i64[?]", 0)},
    {"CLIPTokenizer",
     Sizes::kData,
     kTokens,
     {kI64, kI64, kI64},
     ExtensionCase("a row of tokens per string", "string[2]", "i64[?] i64[?] i64[?]", 0)},
    {"RobertaTokenizer",
     Sizes::kData,
     kTokens,
     {kI64, kI64, kI64},
     ExtensionCase("a row of tokens per string", "string[2]", "i64[?] i64[?] i64[?]", 0)},
    {"SpmTokenizer",
     Sizes::kData,
     kTokens,
     {kI64, kI64, kI64},
     ExtensionCase("a row of tokens per string", "string[2]", "i64[?] i64[?] i64[?]", 0)},
    {"HfJsonTokenizer",
     Sizes::kData,
     kTokens,
     {kI64, kI64, kI64},
     ExtensionCase("a row of tokens per string", "string[2]", "i64[?] i64[?] i64[?]", 0)},
    {"BertTokenizer",
     Sizes::kData,
     kTokens,
     {kI64, kI64, kI64, kI64},
     ExtensionCase("tokens of all strings", "string[2]", "i64[?] i64[?] i64[?] i64[?]", 0)},
    {"HfBertTokenizer",
     Sizes::kData,
     kTokens,
     {kI64, kI64, kI64, kI64},
     ExtensionCase("tokens of all strings", "string[2]", "i64[?] i64[?] i64[?] i64[?]", 0)},
    {"SentencepieceTokenizer",
     Sizes::kData,
     kTokens,
     {kI32, kI64, kI32},
     ExtensionCase("tokens of all strings", "string[2] i64[1] f32[1] bool[1] bool[1] bool[1]",
                   "i32[?] i64[?] i32[?]", 8 + 4 + 3)},
    {"WordpieceTokenizer",
     Sizes::kData,
     kTokens,
     {kText, kI64, kI64, kI64},
     ExtensionCase("words and where they are", "string[2] i64[2]", "string[?] i64[?] i64[?] i64[?]",
                   16)},
    {"BasicTokenizer",
     Sizes::kData,
     kTokens,
     {kText},
     ExtensionCase("words", "string[1]", "string[?]", 0)},
    {"BlingFireSentenceBreaker",
     Sizes::kData,
     kTokens,
     {kText},
     ExtensionCase("sentences", "string[1]", "string[?]", 0)},
    {"TrieTokenizer",
     Sizes::kData,
     kTokens,
     {kI64},
     ExtensionCase("a row of tokens per string", "string[2]", "i64[?]", 0)},
    {"BpeDecoder", Sizes::kData, kTokens, {kText}, kDecode},
    {"TrieDetokenizer", Sizes::kData, kTokens, {kText}, kDecode},
    {"SentencepieceDecoder",
     Sizes::kData,
     kTokens,
     {kText},
     ExtensionCase("reads the tokens", "i64[10] bool[1]", "string[?]", 81)},
    {"BertTokenizerDecoder",
     Sizes::kData,
     kTokens,
     {kText},
     ExtensionCase("reads the tokens", "i64[10] i64[1,2]", "string[?]", 96)},
    {"DecodeImage",
     Sizes::kData,
     kImage,
     {kU8},
     ExtensionCase("reads the encoded image", "u8[1000]", "u8[?]", 1000)},
    {"ImageDecoder",
     Sizes::kData,
     kImage,
     {kU8},
     ExtensionCase("reads the encoded image", "u8[1000]", "u8[?]", 1000)},
    {"ImageReader",
     Sizes::kData,
     kImage,
     {kU8},
     ExtensionCase("from a file", "string[1]", "u8[?]", 0)},
    {"EncodeImage",
     Sizes::kData,
     kImage,
     {kU8},
     ExtensionCase("reads the pixels", "u8[4,5,3]", "u8[?]", 60)},
    {"DrawBoundingBoxes",
     Sizes::kFirst,
     kImage,
     {kU8},
     ExtensionCase("the image with its boxes", "u8[4,5,3] f32[2,6]", "u8[4,5,3]", 60 + 48, 60)},
    {"GaussianBlur",
     Sizes::kFirst,
     kImage,
     {kF32},
     ExtensionCase("the blurred image", "f32[1,4,5,3] i64[2] f64[2]", "f32[1,4,5,3]", 240 + 32,
                   240)},
    {"AudioDecoder",
     Sizes::kData,
     kSound,
     {kF32},
     ExtensionCase("reads the encoded sound", "u8[1,1000]", "f32[?]", 1000)},
    {"StftNorm",
     Sizes::kData,
     kSound,
     {kF32},
     ExtensionCase("frames of a wave", "f32[1,1600] i64[] i64[] f32[400] i64[]", "f32[?]",
                   6400 + 1600 + 24)},
    {"SplitSignalSegments",
     Sizes::kData,
     kSound,
     {kI64},
     ExtensionCase("where somebody speaks", "f32[1,1600] i64[1] i64[1] i64[1] f32[1]", "i64[?]",
                   6400 + 28)},
    {"MergeSignalSegments",
     Sizes::kData,
     kSound,
     {kI64},
     ExtensionCase("joins neighbours", "i64[4,2] i64[1]", "i64[?]", 72)},
    {"SegmentExtraction",
     Sizes::kData,
     kNumbers,
     {kI64, kI64},
     ExtensionCase("runs of equal numbers", "i64[10]", "i64[?] i64[?]", 80)},
    {"SegmentSum",
     Sizes::kData,
     kNumbers,
     {kF32},
     ExtensionCase("a row per segment", "f32[6,2] i64[6]", "f32[?]", 48 + 48)},
    {"ArgSort",
     Sizes::kFirst,
     kNumbers,
     {kI64},
     ExtensionCase("where each goes", "f32[2,3] i64[1]", "i64[2,3]", 24 + 8, 48)},
    {"NegPos",
     Sizes::kFirst,
     kNumbers,
     {kF32, kF32},
     ExtensionCase("two parts", "f32[2,3]", "f32[2,3] f32[2,3]", 24, 48)},
    {"RaggedTensorToDense",
     Sizes::kData,
     kNumbers,
     {kI64},
     ExtensionCase("fills rows up", "i64[3] i64[6] i64[1] i64[1]", "i64[?]", 88)},
    {"RaggedTensorToSparse",
     Sizes::kData,
     kNumbers,
     {kI64, kI64},
     ExtensionCase("indices and extents", "i64[4]", "i64[?] i64[?]", 32)},
};

const Extension& ExtensionOf(const OpContext& ctx) {
  for (const Extension& extension : kExtensions) {
    if (extension.name == ctx.op()) return extension;
  }
  throw Error("there is no operator {} among the extensions", Printable(ctx.op()));
}

void InferExtension(OpContext& ctx) {
  const Extension& extension = ExtensionOf(ctx);
  const int outputs = std::min(ctx.NumOutputs(), static_cast<int>(extension.types.size()));
  for (int i = 0; i < outputs; ++i) {
    const DType type = extension.types[static_cast<std::size_t>(i)];
    ctx.SetOutputType(i, type);
    switch (extension.sizes) {
      case Sizes::kData:
        break;
      case Sizes::kFirst:
        ctx.SetOutput(i, type, ctx.InputShape(0));
        break;
      case Sizes::kBroadcast:
        ctx.SetOutput(i, type, Broadcast(ctx.InputShape(0), ctx.InputShape(1)));
        break;
      case Sizes::kIndices:
        if (i == 2) ctx.SetOutput(i, type, {2});
        break;
    }
  }
}

OpCost CostExtension(const OpContext& ctx) {
  const Extension& extension = ExtensionOf(ctx);
  OpCost cost;
  for (int i = 0; i < ctx.NumInputs(); ++i) AddRead(cost, ctx, i);
  for (int i = 0; i < ctx.NumOutputs(); ++i) {
    if (ctx.HasOutput(i) && ctx.Output(i).type.shape) AddWrite(cost, ctx, i);
  }
  if (extension.depends_on.empty()) {
    cost.note = "the length of strings is in the data and not counted";
    return cost;
  }
  cost.status = NodeStatus::kBounded;
  cost.note = fmt::format("the work depends on {}", extension.depends_on);
  return cost;
}

}  // namespace

std::span<const OpDef> ExtensionOps() {
  static const std::vector<OpDef> defs = [] {
    std::vector<OpDef> made;
    for (const std::string_view domain : kDomains) {
      for (const Extension& extension : kExtensions) {
        made.push_back({.name = extension.name,
                        .domain = domain,
                        .formula = extension.depends_on.empty()
                                       ? "no arithmetic on numbers; strings are not counted"
                                       : "bytes alone: the work depends on the data",
                        .infer = InferExtension,
                        .cost = CostExtension,
                        .cases = {&extension.example, 1}});
      }
    }
    return made;
  }();
  return defs;
}

}  // namespace dlcost
