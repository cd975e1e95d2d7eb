#pragma once

#include <functional>
#include <optional>
#include <string>

#include "estimator/roofline/part.h"
#include "models/algorithms/convolution.h"

namespace dlcost {

// So few channels of a result leave seven eighths of the smallest tile, 32 columns, empty; images
// have as few.
inline constexpr int kFewChannels = 4;

struct ConvChoice {
  Execution execution;
  std::string runner_up;  // "" when nothing else could run it
};

// The candidates for a convolution, and which of them the device's library takes.
class ConvChooser {
 public:
  ConvChooser(const Target& target, const ConvNest& nest, DType type)
      : target_(target), nest_(nest), type_(type) {}

  bool IsDepthwise() const;  // one input channel per group, and nothing else is forced
  Execution Depthwise() const;
  // Whether the user forces an algorithm that can run this convolution.
  bool IsForced() const { return target_.options.conv && Valid(*target_.options.conv); }
  // The unit that its products run on.
  std::optional<ComputeUnit> ProductUnit() const;
  // Whether that is a vector unit which computes halves in pairs.
  bool IsPaired() const;
  // Whether each tap of a gradient of weights is a product of its own there.
  bool IsByTap() const;
  // As the library's rules say, or the algorithm that the user forces where that can run.
  ConvChoice ByRule() const;
  // The time of an execution; one that is clearly no less than `best` need not be exact.
  using TimeOf = std::function<double(const Execution&, double best)>;
  // The same; among ways to tile the implicit product the one with the least time.
  ConvChoice Choose(const TimeOf& seconds) const;

 private:
  // The tile of its products, where the library has but one.
  std::optional<TileShape> OnlyTile() const;
  std::span<const TileShape> VectorTiles() const;
  std::span<const TileShape> TensorTiles() const;
  bool Valid(Algorithm algorithm) const { return !WhyNot(algorithm, nest_, type_); }
  Pipe ProductPipe() const;
  Algorithm Automatic(std::string& runner_up) const;
  Algorithm WinogradOrProduct(std::string& runner_up) const;
  Algorithm LargeFilter(std::string& runner_up) const;
  bool OffersWinograd() const;
  bool RanksByTime() const;
  bool IsTimed() const;
  bool MayShareK(const ConvOptions& options) const;
  double RankedRidge() const;
  double TiledFlops() const;
  double RoughSeconds(const Execution& execution) const;
  // `converted`: channels last, whatever the filter.
  ConvOptions Options(Pipe pipe, bool converted = false) const;
  // Channels of a tap that a kernel walks together (ConvOptions::channel_step).
  int ChannelStep() const;
  // Of a ResNet, which has a kernel of its own that walks the taps of four channels one behind the
  // other.
  bool IsFirstLayer() const;
  bool IsMatrixProduct() const;
  // Whether there is a kernel that converts filters like these.
  bool HasUsualFilters() const;
  // Whether vector units may take halves as they lie, channels first, and the kernel for that.
  bool MayStayPlanes() const;
  Execution OfPlanes() const;
  Execution StagedWinograd() const;
  ConvChoice ChooseOfWeights(const TimeOf& seconds) const;
  Execution FastestProduct(const TimeOf& seconds, bool converted = false) const;
  int FourierTile() const;
  Execution Execute(Algorithm algorithm) const;

  const Target& target_;
  const ConvNest& nest_;
  DType type_;
};

}  // namespace dlcost
