#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "estimator/core/units.h"

namespace dlcost {

// Element types. The numbers are those of TensorProto.DataType (ONNX 1.19, IR version 12).
enum class DType : int {
  kUndefined = 0,
  kFloat32 = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kFloat64 = 11,
  kUint32 = 12,
  kUint64 = 13,
  kComplex64 = 14,
  kComplex128 = 15,
  kBfloat16 = 16,
  kFloat8E4M3FN = 17,
  kFloat8E4M3FNUZ = 18,
  kFloat8E5M2 = 19,
  kFloat8E5M2FNUZ = 20,
  kUint4 = 21,
  kInt4 = 22,
  kFloat4E2M1 = 23,
  kFloat8E8M0 = 24,
  kUint2 = 25,
  kInt2 = 26,
};
inline constexpr int kDTypeCount = 27;

// Short name as printed in reports: "f32", "f16", "bf16", "i64", "u8", "bool", "f8e4m3fn", "i4",
// ...
std::string_view Name(DType type);
// Reads what Name() writes and the common long forms ("float32", "fp16", "float", "half", "int8",
// ...).
std::optional<DType> ParseDType(std::string_view name);
// The type for a TensorProto.DataType number; kUndefined for a number that this version does not
// know.
DType DTypeFromOnnx(int number);

// Bits per element; 0 for kUndefined and for kString (whose size is in the data).
int Bits(DType type);
// Bytes that `elements` elements occupy, sub-byte types packed and rounded up to whole bytes.
Bytes SizeOf(DType type, Count elements);

bool IsFloat(DType type);  // floating point of any width, fp8 and fp4 included; not complex
bool IsComplex(DType type);
bool IsInteger(DType type);  // signed or unsigned, sub-byte too; not bool
bool IsSigned(DType type);

}  // namespace dlcost
