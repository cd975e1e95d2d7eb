#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace dlcost {

// The constants of the time model. Each has a meaning, a unit, a range, and a value for
// architectures that nobody has measured (ConstantDefs); hw_specs/ overrides them per architecture
// and per device in `timing:` sections. docs/timing.md explains them.
enum class Constant {
  kLaunchGraph,
  kLaunchHost,
  kLaunchCall,
  kLaunchProduct,
  kLaunchConv,
  kLaunchLayer,
  kLaunchAttention,
  kMemorySustained,
  kMemoryLatency,
  kCacheRate,
  kCacheShare,
  kPowerVector,
  kPowerTensor,
  kBurstTime,
  kTileOverhead,
  kTileBusyArea,
  kTileSplit,
  kVectorEfficiency,
  kVectorRagged,
  kVectorBatched,
  kVectorDrain,
  kVectorOverlap,
  kTensorEfficiency,
  kTensorEfficiency8,
  kTensorFill,
  kTensorDrain,
  kTensorCut,
  kTensorOverlap,
  kKernelOverlap,
  kAttentionEfficiency,
  kAttentionFlash2,
  kAttentionBlockOverhead,
  kDecodeBlockOverhead,
  kConvEfficiency,
  kConvTilePenalty,
  kConvWinogradFused,
  kStreamSustained,
  kSoftmax,
  kRangeGemm,
  kRangeBatched,
  kRangeAttention,
  kRangeDecode,
  kRangeConv,
  kRangeElementwise,
  kCount,
};
inline constexpr std::size_t kConstantCount = static_cast<std::size_t>(Constant::kCount);

// What one value of a constant holds for.
enum class ConstantScope {
  kTrait,      // one architecture, one board or the libraries written for it
  kCommon,     // devices that nobody measured; rows of an architecture give it its own
  kUniversal,  // every GPU: rows of one device or architecture do not move it
};

struct ConstantDef {
  Constant id;
  std::string_view name;     // in `timing:` sections: "tensor.efficiency"
  double value;              // where neither the device nor its architecture says anything
  double low, high;          // what a file may say and a fit may choose
  std::string_view unit;     // "s", "B/clk", "x" (a factor), "" (a share of a rate)
  std::string_view meaning;  // one line
  ConstantScope scope = ConstantScope::kCommon;
};

// In the order of Constant.
std::span<const ConstantDef> ConstantDefs();
const ConstantDef& Def(Constant constant);
std::optional<Constant> FindConstant(std::string_view name);
// Closer to an end of its range than a fit tells apart: the rows ask for something else than the
// constant stands for. 0 is an answer, not an end.
bool IsAtLimit(const ConstantDef& def, double value);

// One value per constant.
class TimingConstants {
 public:
  TimingConstants();  // the values of ConstantDefs()
  // The values of ConstantDefs() with those of `timing` (Device::timing) on top. Throws Error for
  // an unknown name, with the nearest one, and for a value outside its range.
  explicit TimingConstants(const std::map<std::string, double>& timing);
  // The values of `common` with those of `timing` on top.
  TimingConstants(const TimingConstants& common, const std::map<std::string, double>& timing);

  double operator[](Constant constant) const { return values_[static_cast<std::size_t>(constant)]; }
  double& operator[](Constant constant) { return values_[static_cast<std::size_t>(constant)]; }

 private:
  std::array<double, kConstantCount> values_;
};

}  // namespace dlcost
