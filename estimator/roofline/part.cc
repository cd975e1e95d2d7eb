#include "estimator/roofline/part.h"

#include <algorithm>

namespace dlcost {

namespace {

// ComputeUnit::spare. bfloat16, which has no such sums, comes as fast as float16.
double SpareOf(const Device& device, DType type, const Roof& roof) {
  const std::optional<NumberFormat> format = FormatOf(type);
  if (!format || !IsFloat(type) || Bits(type) > 16) return 1;
  const NumberFormat summed = Bits(type) == 16 ? NumberFormat::kFp16 : *format;
  const Rate* narrow = device.FindRate(UnitKind::kTensor, summed, NumberFormat::kFp16);
  return narrow == nullptr ? 1 : std::max(1.0, narrow->peak.value() / roof.peak.value());
}

std::optional<ComputeUnit> FindUnitFor(const Target& target, WorkKind kind, DType type) {
  const Roof roof = FindRoof(target.device, kind, type, target.options.math);
  if (!roof.known) return std::nullopt;
  ComputeUnit unit{.peak = roof.reached.value(),
                   .bytes = std::max(Bits(type), 4) / 8.0,
                   .energy_width = EnergyWidth(type),
                   .tensor = roof.unit == UnitKind::kTensor};
  if (unit.tensor) unit.spare = SpareOf(target.device, type, roof);
  return unit;
}

}  // namespace

std::optional<ComputeUnit> FindUnit(const Target& target, DType type) {
  std::optional<ComputeUnit> unit = FindFastestUnit(target, type);
  const bool half = type == DType::kFloat16 || type == DType::kBfloat16;
  if (!unit || unit->tensor || !half || !target.library.halves_in_float) return unit;
  return InFloat(target, type);
}

std::optional<ComputeUnit> InFloat(const Target& target, DType type) {
  std::optional<ComputeUnit> unit = FindVectorUnit(target, type);
  const std::optional<ComputeUnit> wide = FindVectorUnit(target, DType::kFloat32);
  if (unit && wide) unit->peak = std::min(unit->peak, wide->peak);
  return unit;
}

std::optional<ComputeUnit> FindFastestUnit(const Target& target, DType type) {
  return FindUnitFor(target, WorkKind::kMatrix, type);
}

std::optional<ComputeUnit> FindVectorUnit(const Target& target, DType type) {
  return FindUnitFor(target, WorkKind::kVector, type);
}

Conditions ConditionsOf(const Target& target, const Part& part, double weights) {
  Conditions conditions{.eager = target.options.Calls(),
                        .rested = target.options.rested,
                        .weight_copies = target.options.weight_copies};
  if (target.options.cache == CacheState::kWarm) return conditions;
  // The model's inputs come from memory, and weights that do not stay; what the kernels before have
  // written may still be in the cache, and so may what is written for the next ones.
  const double bytes = part.bytes();
  if (weights <= 0) {
    conditions.kept_weights = 0;
    conditions.kept_rest = bytes > 0 ? part.passed / bytes : 0;
    return conditions;
  }
  // A product of two results may have constants beside it, such as a mask: its operands were
  // passed.
  const auto* gemm = std::get_if<GemmNest>(&part.nest);
  if (part.weights > 0 && (gemm == nullptr || gemm->b_is_weight)) {
    conditions.weight_copies = std::max(1.0, part.weights / weights);
  }
  const double cold = std::max(0.0, bytes - part.passed);
  const double rest = std::max(bytes - weights, 1.0);
  conditions.kept_weights = 1 - std::min(1.0, cold / weights);
  conditions.kept_rest = 1 - std::min(1.0, std::max(0.0, cold - weights) / rest);
  return conditions;
}

void ApplySustainedPower(const Target& target, const ComputeUnit& unit, double flops,
                         PartTime& time) {
  if (target.options.rested) return;
  const double sustained =
      time.launch + flops / PowerLimit(*target.timing, unit.tensor, unit.energy_width);
  if (sustained <= time.seconds) return;
  time.power += sustained - time.seconds;
  time.seconds = sustained;
}

double SetupOfLayer(const TimingDevice& timing) {
  return timing[Constant::kLaunchLayer] * timing[Constant::kLaunchCall];
}

}  // namespace dlcost
