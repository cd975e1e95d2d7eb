// Which way of a 3x3 convolution libraries take on vector units.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "estimator/roofline/choose_conv.h"

namespace dlcost {
namespace {

// How cuDNN ranks the ways, from 4,800 recorded choices on P4, P100, V100 and T4 (80 % of them
// follow; forests of trees on sizes come to 85): each executes its products, and pays for what it
// does beside them. In FLOPs:
//     product  p * max(1, units / tiles)^kIdle,         p of whole tiles of 128 x 64
//     fused    f * (kFused + kFusedTransforms * ridge / Cin)
//     staged   s * (kStaged + kStagedTransforms * ridge * (1 / Cin + 1 / Cout) + kStagedImages / N)
// The ridge point in FLOP/byte says what bytes cost: the transformed operands of the staged way
// pass memory twice, 4 * (1 / Cin + 1 / Cout) bytes a FLOP, at 0.76 of the bandwidth. One set of
// constants for all devices.
constexpr TileShape kRankedTile = {.m = 128, .n = 64, .k = 8};
constexpr double kIdle = 0.6;
constexpr double kFused = 1.2, kFusedTransforms = 1.7;
constexpr double kStaged = 0.75, kStagedTransforms = 5.3, kStagedImages = 16;
constexpr double kUsualRidge = 15;  // where the device's bandwidth is not public

double ProductFlops(const Execution& execution) {
  Instructions products = execution.Of(TermKind::kProducts);
  products += execution.Of(TermKind::kPadding);
  return products.flops().AsDouble();
}

}  // namespace

Algorithm ConvChooser::WinogradOrProduct(std::string& runner_up) const {
  const double ridge = RankedRidge();
  const double per_input = ridge / nest_.in_channels.AsDouble();
  const double per_output = ridge / nest_.out_channels.AsDouble();
  std::vector<std::pair<double, Algorithm>> order;
  order.emplace_back(TiledFlops(), Algorithm::kImplicitGemm);
  order.emplace_back(
      ProductFlops(Execute(Algorithm::kWinograd)) * (kFused + kFusedTransforms * per_input),
      Algorithm::kWinograd);
  if (Valid(Algorithm::kWinogradNonfused)) {
    const int outputs = target_.library.winograd.nonfused_tile;
    const Count macs = MacsOf(NonfusedWinogradProducts(nest_, outputs, target_.library));
    order.emplace_back(2 * macs.AsDouble() *
                           (kStaged + kStagedTransforms * (per_input + per_output) +
                            kStagedImages / nest_.batch.AsDouble()),
                       Algorithm::kWinogradNonfused);
  }
  std::sort(order.begin(), order.end());
  runner_up = Name(order[1].second);
  return order[0].second;
}

// The ridge point of vector units, which add up in fp32, at the highest clock that the board is
// known to run at, as if each element had four bytes.
double ConvChooser::RankedRidge() const {
  const std::optional<ComputeUnit> unit = InFloat(target_, type_);
  const auto& bandwidth = target_.device.memory.bandwidth;
  if (!unit || !bandwidth) return kUsualRidge;
  return unit->peak / bandwidth->value() * unit->bytes / 4;
}

// Of the product, more where tiles leave units idle.
double ConvChooser::TiledFlops() const {
  const TileGrid grid = GridOf(ImplicitGemmOf(nest_), kRankedTile);
  const double idle = target_.device.units.value_or(1) / grid.Blocks().AsDouble();
  return 2 * grid.batch.AsDouble() * grid.padded_m().AsDouble() * grid.padded_n().AsDouble() *
         grid.padded_k().AsDouble() * std::pow(std::max(1.0, idle), kIdle);
}

}  // namespace dlcost
