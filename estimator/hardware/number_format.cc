#include "estimator/hardware/number_format.h"

#include <iterator>

namespace dlcost {
namespace {

struct FormatInfo {
  std::string_view name;
  int bits;
  bool integer;
};

// In the order of the enumeration.
constexpr FormatInfo kFormats[] = {
    {"fp64", 64, false}, {"fp32", 32, false}, {"tf32", 32, false}, {"fp16", 16, false},
    {"bf16", 16, false}, {"fp8", 8, false},   {"fp6", 6, false},   {"fp4", 4, false},
    {"int32", 32, true}, {"int16", 16, true}, {"int8", 8, true},   {"int4", 4, true},
    {"binary", 1, true},
};
static_assert(std::size(kFormats) == kNumberFormatCount);

const FormatInfo& Info(NumberFormat format) { return kFormats[static_cast<int>(format)]; }

}  // namespace

std::string_view Name(NumberFormat format) { return Info(format).name; }
int Bits(NumberFormat format) { return Info(format).bits; }
bool IsInteger(NumberFormat format) { return Info(format).integer; }

std::optional<NumberFormat> ParseNumberFormat(std::string_view name) {
  for (int i = 0; i < kNumberFormatCount; ++i) {
    if (kFormats[i].name == name) return static_cast<NumberFormat>(i);
  }
  return std::nullopt;
}

std::optional<NumberFormat> FormatOf(DType type) {
  switch (type) {
    case DType::kFloat64:
      return NumberFormat::kFp64;
    case DType::kFloat32:
      return NumberFormat::kFp32;
    case DType::kFloat16:
      return NumberFormat::kFp16;
    case DType::kBfloat16:
      return NumberFormat::kBf16;
    case DType::kFloat8E4M3FN:
    case DType::kFloat8E4M3FNUZ:
    case DType::kFloat8E5M2:
    case DType::kFloat8E5M2FNUZ:
    case DType::kFloat8E8M0:
      return NumberFormat::kFp8;
    case DType::kFloat4E2M1:
      return NumberFormat::kFp4;
    case DType::kInt32:
    case DType::kUint32:
      return NumberFormat::kInt32;
    case DType::kInt16:
    case DType::kUint16:
      return NumberFormat::kInt16;
    case DType::kInt8:
    case DType::kUint8:
    case DType::kBool:  // stored and computed as bytes
      return NumberFormat::kInt8;
    case DType::kInt4:
    case DType::kUint4:
    case DType::kInt2:  // no unit multiplies two-bit integers; the next wider format holds them
    case DType::kUint2:
      return NumberFormat::kInt4;
    default:
      return std::nullopt;
  }
}

}  // namespace dlcost
