#include "estimator/core/dtype.h"

#include <array>

#include "estimator/core/dtype_spelling.h"
#include "estimator/core/error.h"
#include "estimator/core/spelling.h"

namespace dlcost {
namespace {

enum class Family { kNone, kFloat, kComplex, kSigned, kUnsigned };

struct Facts {
  std::string_view name;
  std::string_view long_name;
  int bits;
  Family family;
};

// Indexed by the ONNX number.
constexpr std::array<Facts, kDTypeCount> kFacts = {{
    {"undefined", "undefined", 0, Family::kNone},
    {"f32", "float32", 32, Family::kFloat},
    {"u8", "uint8", 8, Family::kUnsigned},
    {"i8", "int8", 8, Family::kSigned},
    {"u16", "uint16", 16, Family::kUnsigned},
    {"i16", "int16", 16, Family::kSigned},
    {"i32", "int32", 32, Family::kSigned},
    {"i64", "int64", 64, Family::kSigned},
    {"string", "string", 0, Family::kNone},
    {"bool", "boolean", 8, Family::kNone},
    {"f16", "float16", 16, Family::kFloat},
    {"f64", "float64", 64, Family::kFloat},
    {"u32", "uint32", 32, Family::kUnsigned},
    {"u64", "uint64", 64, Family::kUnsigned},
    {"c64", "complex64", 64, Family::kComplex},
    {"c128", "complex128", 128, Family::kComplex},
    {"bf16", "bfloat16", 16, Family::kFloat},
    {"f8e4m3fn", "float8e4m3fn", 8, Family::kFloat},
    {"f8e4m3fnuz", "float8e4m3fnuz", 8, Family::kFloat},
    {"f8e5m2", "float8e5m2", 8, Family::kFloat},
    {"f8e5m2fnuz", "float8e5m2fnuz", 8, Family::kFloat},
    {"u4", "uint4", 4, Family::kUnsigned},
    {"i4", "int4", 4, Family::kSigned},
    {"f4e2m1", "float4e2m1", 4, Family::kFloat},
    {"f8e8m0", "float8e8m0", 8, Family::kFloat},
    {"u2", "uint2", 2, Family::kUnsigned},
    {"i2", "int2", 2, Family::kSigned},
}};

struct Alias {
  std::string_view name;
  DType type;
};
constexpr std::array kAliases = {
    Alias{"fp32", DType::kFloat32},     Alias{"float", DType::kFloat32},
    Alias{"fp16", DType::kFloat16},     Alias{"half", DType::kFloat16},
    Alias{"fp64", DType::kFloat64},     Alias{"double", DType::kFloat64},
    Alias{"fp8", DType::kFloat8E4M3FN}, Alias{"f8", DType::kFloat8E4M3FN},
    Alias{"fp4", DType::kFloat4E2M1},   Alias{"f4", DType::kFloat4E2M1},
};

const Facts& FactsOf(DType type) { return kFacts.at(static_cast<std::size_t>(type)); }

}  // namespace

std::string_view Name(DType type) { return FactsOf(type).name; }

std::optional<DType> ParseDType(std::string_view name) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const Facts& facts = kFacts[static_cast<std::size_t>(i)];
    if (name == facts.name || name == facts.long_name) return static_cast<DType>(i);
  }
  for (const Alias& alias : kAliases) {
    if (name == alias.name) return alias.type;
  }
  return std::nullopt;
}

std::vector<std::string> DTypeSpellings() {
  std::vector<std::string> names;
  for (int i = 1; i < kDTypeCount; ++i) {
    const Facts& facts = kFacts[static_cast<std::size_t>(i)];
    names.emplace_back(facts.name);
    names.emplace_back(facts.long_name);
  }
  for (const Alias& alias : kAliases) names.emplace_back(alias.name);
  return names;
}

DType ReadDType(const std::string& option, const std::string& name) {
  if (const std::optional<DType> type = ParseDType(name)) return *type;
  throw Error("{} '{}' is no data type{}", option, Printable(name),
              DidYouMean(name, DTypeSpellings()));
}

DType DTypeFromOnnx(int number) {
  return number >= 0 && number < kDTypeCount ? static_cast<DType>(number) : DType::kUndefined;
}

int Bits(DType type) { return FactsOf(type).bits; }

Bytes SizeOf(DType type, Count elements) { return Bytes(CeilDiv(elements * Count(Bits(type)), 8)); }

bool IsFloat(DType type) { return FactsOf(type).family == Family::kFloat; }
bool IsComplex(DType type) { return FactsOf(type).family == Family::kComplex; }
bool IsInteger(DType type) {
  return FactsOf(type).family == Family::kSigned || FactsOf(type).family == Family::kUnsigned;
}
bool IsSigned(DType type) { return FactsOf(type).family == Family::kSigned; }

}  // namespace dlcost
