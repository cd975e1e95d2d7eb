#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "estimator/core/dtype.h"
#include "estimator/hardware/device.h"

namespace dlcost {

// Which work: sums of products that matrix units can run, or everything else.
enum class WorkKind { kMatrix, kVector };

// What the user allows (`--math`). Never changes what is counted, only which unit runs it.
enum class MathMode {
  kDefault,          // fp32 stays fp32; half types accumulate in fp32
  kTf32,             // fp32 matrix products may round their inputs to tf32
  kTf32Convolution,  // fp32 convolutions may, matrix products may not
  kFp16Accumulate,   // fp16 matrix products may accumulate in fp16
  kFastest,          // tf32 for fp32 products and fp16 sums for fp16 products, where either pays
};
std::string_view Name(MathMode mode);  // "default", "tf32", "tf32-convolution", ...
std::optional<MathMode> ParseMathMode(std::string_view name);
std::span<const MathMode> MathModes();  // all, in the order above
// The mode of one kind of product.
MathMode ModeOf(MathMode mode, bool convolution);

// The compute roof that work on a data type really runs under.
struct Roof {
  bool known = false;  // false: the documents list no rate that could run it; there is no bound
  UnitKind unit = UnitKind::kVector;
  NumberFormat input = NumberFormat::kFp32;  // what really multiplies
  NumberFormat accumulate = NumberFormat::kFp32;
  FlopRate peak;     // as the documents rate it
  FlopRate reached;  // at the highest clock that boards are known to run at: what bounds rest on
  // Said to the user when the type does not run as itself: "bf16 runs as fp32: no bf16 arithmetic".
  std::string note;
};

// The fastest unit that computes `type` at its own or at a wider precision, under `mode`.
// Rates are dense. Deterministic; never throws for a device that was read without error.
Roof FindRoof(const Device& device, WorkKind work, DType type, MathMode mode = MathMode::kDefault);

// Intensity where compute and device memory take equally long; none where a rate is unknown.
std::optional<Intensity> RidgePoint(const Device& device, const Roof& roof);

}  // namespace dlcost
