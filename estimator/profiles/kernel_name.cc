#include "estimator/profiles/kernel_name.h"

#include <algorithm>
#include <array>

#include "estimator/profiles/text.h"

namespace dlcost {
namespace {

// Types as libraries spell them; the first that occurs counts, so longer spellings stand first.
struct TypeSpelling {
  std::string_view spelling, type;
};
constexpr TypeSpelling kTypes[] = {
    {"tf32", "tf32"},  {"bf16", "bf16"},  {"bfloat16", "bf16"}, {"fp16", "f16"},
    {"__half", "f16"}, {"h884", "f16"},   {"s884", "f16"},      {"h1688", "f16"},
    {"f16", "f16"},    {"half", "f16"},   {"e4m3", "f8e4m3"},   {"e5m2", "f8e5m2"},
    {"i8816", "i8"},   {"i8i8", "i8"},    {"int8", "i8"},       {"hgemm", "f16"},
    {"dgemm", "f64"},  {"sgemm", "f32"},  {"cgemm", "c64"},     {"scudnn", "f32"},
    {"hcudnn", "f16"}, {"double", "f64"}, {"fp32", "f32"},      {"f32", "f32"},
    {"float", "f32"},  {"_sb_", "f32"},   {"_hb_", "f16"},      {"_bb_", "bf16"},
    {"_db_", "f64"}};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

std::optional<std::int64_t> TakeNumber(std::string_view& text) {
  std::int64_t value = 0;
  std::size_t digits = 0;
  while (digits < text.size() && IsDigit(text[digits])) {
    if (digits == 5) return std::nullopt;  // no tile is that large
    value = value * 10 + (text[digits++] - '0');
  }
  text.remove_prefix(digits);
  return digits > 0 ? std::optional(value) : std::nullopt;
}

// "128x64", "128x128x16", "MT128x64x16": the first MxN or MxNxK whose sides could be a tile's (8
// and more; 3x3 is a filter, 2x2 a unit).
void ReadTile(std::string_view name, KernelName& kernel) {
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (!IsDigit(name[i]) || (i > 0 && (IsDigit(name[i - 1]) || name[i - 1] == 'x'))) continue;
    std::string_view rest = name.substr(i);
    const auto m = TakeNumber(rest);
    if (!m || !rest.starts_with('x')) continue;
    rest.remove_prefix(1);
    const auto n = TakeNumber(rest);
    if (!n || *m < 8 || *n < 8 || *m > 1024 || *n > 1024) continue;
    kernel.tile_m = m;
    kernel.tile_n = n;
    if (rest.starts_with('x') || (rest.starts_with('_') && rest.size() > 1 && IsDigit(rest[1]))) {
      rest.remove_prefix(1);
      const auto k = TakeNumber(rest);
      if (k && *k >= 4 && *k <= 1024) kernel.tile_k = k;
    }
    return;
  }
}

}  // namespace

std::string_view Name(KernelFamily family) {
  switch (family) {
    case KernelFamily::kUnknown:
      return "unknown";
    case KernelFamily::kConvolution:
      return "convolution";
    case KernelFamily::kGemm:
      return "matrix product";
    case KernelFamily::kAttention:
      return "attention";
    case KernelFamily::kRecurrent:
      return "recurrent";
    case KernelFamily::kPooling:
      return "pooling";
    case KernelFamily::kNormalization:
      return "normalization";
    case KernelFamily::kSoftmax:
      return "softmax";
    case KernelFamily::kElementwise:
      return "elementwise";
    case KernelFamily::kReduction:
      return "reduction";
    case KernelFamily::kDropout:
      return "dropout";
    case KernelFamily::kEmbedding:
      return "gather";
    case KernelFamily::kLayout:
      return "layout change";
    case KernelFamily::kTransform:
      return "transform";
    case KernelFamily::kEpilogue:
      return "epilogue";
    case KernelFamily::kQuantize:
      return "quantization";
    case KernelFamily::kRandom:
      return "random numbers";
    case KernelFamily::kFill:
      return "fill";
    case KernelFamily::kCommunication:
      return "communication";
  }
  return "";
}

KernelName ReadKernelName(std::string_view name) {
  KernelName kernel;
  const std::string lower = Lower(name.substr(0, 4096));
  for (const KernelNameRule& rule : KernelNameRules()) {
    if (!Contains(lower, rule.part) ||
        (!rule.and_part.empty() && !Contains(lower, rule.and_part))) {
      continue;
    }
    kernel.family = rule.family;
    kernel.library = rule.library;
    kernel.algorithm = rule.algorithm;
    kernel.tensor = rule.tensor;
    break;
  }
  for (const TypeSpelling& type : kTypes) {
    if (Contains(lower, type.spelling)) {
      kernel.type = type.type;
      break;
    }
  }
  ReadTile(lower, kernel);
  return kernel;
}

}  // namespace dlcost
