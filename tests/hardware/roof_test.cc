// Which unit really runs a data type, on devices whose answers differ.
#include "estimator/hardware/roof.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "estimator/hardware/database.h"

namespace dlcost {
namespace {

using ::testing::HasSubstr;

Roof RoofOn(const std::string& device, WorkKind work, DType type,
            MathMode mode = MathMode::kDefault) {
  static const DeviceDatabase database({std::string(DLCOST_SOURCE_DIR) + "/hw_specs"});
  return FindRoof(database.Find(device), work, type, mode);
}

struct MatrixCase {
  const char* device;
  DType type;
  MathMode mode;
  double tera;  // 10^12 operations per second
  UnitKind unit;
  NumberFormat input;
  const char* note;  // part of it; "" where the type runs as itself
};

constexpr auto kDef = MathMode::kDefault;
constexpr auto kTf = MathMode::kTf32;
constexpr auto kHalf = MathMode::kFp16Accumulate;
constexpr auto kFast = MathMode::kFastest;
constexpr auto kVec = UnitKind::kVector;
constexpr auto kTen = UnitKind::kTensor;

constexpr MatrixCase kMatrixCases[] = {
    // fp32 stays on the vector units unless tf32 is allowed.
    {"a100", DType::kFloat32, kDef, 19.5, kVec, NumberFormat::kFp32, ""},
    {"a100", DType::kFloat32, kTf, 156, kTen, NumberFormat::kTf32, ""},
    {"v100", DType::kFloat32, kTf, 15.7, kVec, NumberFormat::kFp32, "has no tf32 mode"},
    {"mi100", DType::kFloat32, kDef, 46.1, kTen, NumberFormat::kFp32, ""},
    {"mi355x", DType::kFloat32, kTf, 157.3, kTen, NumberFormat::kFp32, "has no tf32 mode"},
    {"a100", DType::kFloat64, kDef, 19.5, kTen, NumberFormat::kFp64, ""},
    {"arc-a770", DType::kFloat64, kDef, 0, kVec, NumberFormat::kFp64, "no rate is public"},
    // GeForce halves fp16 with fp32 sums.
    {"a100", DType::kFloat16, kDef, 312, kTen, NumberFormat::kFp16, ""},
    {"rtx-4090", DType::kFloat16, kDef, 165.2, kTen, NumberFormat::kFp16, ""},
    {"rtx-4090", DType::kFloat16, kHalf, 330.3, kTen, NumberFormat::kFp16, ""},
    {"rtx-2080-ti", DType::kFloat16, kDef, 53.8, kTen, NumberFormat::kFp16, ""},
    // The fastest of both: tf32, and sums in halves, where there is such a unit.
    {"rtx-4090", DType::kFloat16, kFast, 330.3, kTen, NumberFormat::kFp16, ""},
    {"a100", DType::kFloat32, kFast, 156, kTen, NumberFormat::kTf32, ""},
    {"t4", DType::kFloat32, kFast, 8.1, kVec, NumberFormat::kFp32, ""},
    // Pascal: 1/64 on P4 and P40; twice the fp32 rate on P100, with fp16 sums only.
    {"p4", DType::kFloat16, kDef, 5.5, kVec, NumberFormat::kFp32, "fp16 runs as fp32"},
    {"p4", DType::kFloat16, kHalf, 5.5, kVec, NumberFormat::kFp32, "fp16 runs as fp32"},
    {"p100", DType::kFloat16, kDef, 21.2, kVec, NumberFormat::kFp16, "fp16 adds up in fp16"},
    {"p100", DType::kFloat16, kHalf, 21.2, kVec, NumberFormat::kFp16, ""},
    // bf16 needs Ampere; before, it is fp32.
    {"v100", DType::kBfloat16, kDef, 15.7, kVec, NumberFormat::kFp32, "bf16 runs as fp32"},
    {"t4", DType::kBfloat16, kDef, 8.1, kVec, NumberFormat::kFp32, "bf16 runs as fp32"},
    {"mi100", DType::kBfloat16, kDef, 92.3, kTen, NumberFormat::kBf16, ""},
    {"8480+", DType::kBfloat16, kDef, 217.907, kTen, NumberFormat::kBf16, ""},
    {"8480+", DType::kFloat16, kDef, 13.619, kVec, NumberFormat::kFp32, "fp16 runs as fp32"},
    // fp8 needs Ada or Hopper; before, it is expanded.
    {"h100", DType::kFloat8E4M3FN, kDef, 1978.9, kTen, NumberFormat::kFp8, ""},
    {"a100", DType::kFloat8E4M3FN, kDef, 312, kTen, NumberFormat::kFp16, "fp8 runs as fp16"},
    {"v100", DType::kFloat8E5M2, kDef, 125, kTen, NumberFormat::kFp16, "fp8 runs as fp16"},
    {"b200", DType::kFloat4E2M1, kDef, 9000, kTen, NumberFormat::kFp4, ""},
    {"h100", DType::kFloat4E2M1, kDef, 1978.9, kTen, NumberFormat::kFp8, "fp4 runs as fp8"},
    // Integers: tensor units, DP4A, or nothing of their own.
    {"a100", DType::kInt8, kDef, 624, kTen, NumberFormat::kInt8, ""},
    {"t4", DType::kUint8, kDef, 130, kTen, NumberFormat::kInt8, ""},
    {"p4", DType::kInt8, kDef, 22, kVec, NumberFormat::kInt8, ""},
    {"v100", DType::kInt8, kDef, 62.8, kVec, NumberFormat::kInt8, "slower than fp16"},
    {"p100", DType::kInt8, kDef, 10.6, kVec, NumberFormat::kFp32, "int8 runs as fp32"},
    {"h100", DType::kInt4, kDef, 1978.9, kTen, NumberFormat::kInt8, "int4 runs as int8"},
    {"b300", DType::kInt8, kDef, 153.5, kTen, NumberFormat::kInt8, "slower than fp16"},
    // One die against the package; a TPU's fp32.
    {"mi250x", DType::kFloat16, kDef, 383, kTen, NumberFormat::kFp16, ""},
    {"mi250x-gcd", DType::kFloat16, kDef, 191.5, kTen, NumberFormat::kFp16, ""},
    {"tpu-v4", DType::kFloat32, kDef, 275, kTen, NumberFormat::kBf16, "one bf16 pass"},
};

TEST(Roof, MatrixProductsRunOnTheUnitThatReallyRunsThem) {
  for (const MatrixCase& c : kMatrixCases) {
    SCOPED_TRACE(std::string(c.device) + " " + std::string(Name(c.type)) + " " +
                 std::string(Name(c.mode)));
    const Roof roof = RoofOn(c.device, WorkKind::kMatrix, c.type, c.mode);
    EXPECT_EQ(roof.known, c.tera > 0);
    EXPECT_DOUBLE_EQ(roof.peak.value(), c.tera * 1e12);
    if (roof.known) {
      EXPECT_EQ(roof.unit, c.unit);
      EXPECT_EQ(Name(roof.input), Name(c.input));
    }
    if (*c.note == '\0') {
      EXPECT_EQ(roof.note, "");
    } else {
      EXPECT_THAT(roof.note, HasSubstr(c.note));
    }
  }
}

TEST(Roof, ElementwiseWorkRunsOnVectorUnits) {
  EXPECT_EQ(RoofOn("a100", WorkKind::kVector, DType::kFloat32).peak, FlopRate(19.5e12));
  EXPECT_EQ(RoofOn("a100", WorkKind::kVector, DType::kFloat16).peak, FlopRate(78e12));
  EXPECT_EQ(RoofOn("a100", WorkKind::kVector, DType::kInt64).peak, FlopRate(19.5e12));
  EXPECT_EQ(RoofOn("p4", WorkKind::kVector, DType::kFloat16).peak, FlopRate(5.5e12));
  EXPECT_EQ(RoofOn("p4", WorkKind::kVector, DType::kFloat64).peak, FlopRate(0.17e12));
  // Sixteen-bit lanes are twice as many on a CPU.
  EXPECT_DOUBLE_EQ(RoofOn("8480+", WorkKind::kVector, DType::kInt16).peak.value(), 2 * 13.619e12);
  const Roof tpu = RoofOn("tpu-v4", WorkKind::kVector, DType::kFloat32);
  EXPECT_FALSE(tpu.known);
  EXPECT_THAT(tpu.note, HasSubstr("no rate is public"));
}

TEST(Roof, EveryTypeOnEveryDeviceHasARoofOrAReason) {
  for (const Device& device :
       DeviceDatabase({std::string(DLCOST_SOURCE_DIR) + "/hw_specs"}).All()) {
    for (int type = 0; type < kDTypeCount; ++type) {
      for (const WorkKind work : {WorkKind::kMatrix, WorkKind::kVector}) {
        for (const MathMode mode : {kDef, kTf, kHalf}) {
          const Roof roof = FindRoof(device, work, static_cast<DType>(type), mode);
          EXPECT_EQ(roof.known, roof.peak.value() > 0);
          EXPECT_TRUE(roof.known || !roof.note.empty()) << device.id << " " << type;
        }
      }
    }
  }
}

TEST(Roof, ReachesMoreThanItsPeakWhereBoardsRunAboveTheRatedClock) {
  const Roof h200 = RoofOn("h200-nvl", WorkKind::kMatrix, DType::kFloat16);
  EXPECT_DOUBLE_EQ(h200.peak.value(), 835.5e12);
  EXPECT_DOUBLE_EQ(h200.reached.value(), 835.5e12 * 1785 / 1545);  // rated at 1545 MHz
  const Roof vector = RoofOn("h200-nvl", WorkKind::kVector, DType::kFloat32);
  EXPECT_EQ(vector.reached, vector.peak);  // rated at the highest clock
}

TEST(Roof, RidgePointIsPeakOverBandwidth) {
  const Device a100 = DeviceDatabase({std::string(DLCOST_SOURCE_DIR) + "/hw_specs"}).Find("a100");
  const Roof roof = FindRoof(a100, WorkKind::kMatrix, DType::kFloat16);
  EXPECT_NEAR(RidgePoint(a100, roof)->value(), 312e12 / 2039e9, 1e-9);
  EXPECT_EQ(RidgePoint(a100, Roof()), std::nullopt);
}

TEST(Roof, MathModesHaveNames) {
  for (const MathMode mode : {kDef, kTf, kHalf}) EXPECT_EQ(ParseMathMode(Name(mode)), mode);
  EXPECT_EQ(ParseMathMode("fast"), std::nullopt);
}

}  // namespace
}  // namespace dlcost
