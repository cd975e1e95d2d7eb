#pragma once

#include <optional>
#include <string_view>

#include "estimator/core/dtype.h"

namespace dlcost {

// What a unit multiplies or accumulates in. Coarser than DType (both fp8 encodings run alike, and
// so do signed and unsigned integers) and finer (tf32 is a way to multiply fp32 tensors).
enum class NumberFormat {
  kFp64,
  kFp32,
  kTf32,
  kFp16,
  kBf16,
  kFp8,
  kFp6,
  kFp4,
  kInt32,
  kInt16,
  kInt8,
  kInt4,
  kBinary,
};
inline constexpr int kNumberFormatCount = 13;

// "fp64", "tf32", "int8", ...: the names used in hw_specs/ and on the command line.
std::string_view Name(NumberFormat format);
std::optional<NumberFormat> ParseNumberFormat(std::string_view name);
int Bits(NumberFormat format);  // as stored: 32 for tf32
bool IsInteger(NumberFormat format);

// The format that holds a tensor's element type; none for strings, 64-bit integers, complex and
// undefined types.
std::optional<NumberFormat> FormatOf(DType type);

}  // namespace dlcost
