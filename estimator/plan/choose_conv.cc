#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "estimator/plan/choose.h"
#include "models/algorithms/convolution.h"

namespace dlcost {
namespace {

// When cuDNN takes Winograd over the implicit product on the same unit. It pays with the operations
// it saves, with input channels (over which the output transform is shared out), less with many
// filters, and less where memory is slow for the arithmetic (the ridge point, FLOP/byte):
// saving^3 * Cin / (Cout^(1/4) * ridge^(3/2)) above this. One set of exponents and one constant for
// all devices, from 4,800 recorded choices for 3x3 filters on P4, P100, V100 and T4.
constexpr double kWinogradWorthwhile = 0.5;
// Share of the peak that each kind of kernel computes at, for choosing alone.
constexpr double kProductShare = 0.8;
constexpr double kTransformedShare = 0.5;
constexpr double kUsualRidge = 15;    // where the device's bandwidth is not public
constexpr double kTensorShare = 0.4;  // tf32 kernels of cuDNN 8

class ConvChooser {
 public:
  ConvChooser(const ConvNest& nest, DType type, const Target& target)
      : nest_(nest), type_(type), target_(target), library_(LibraryOf(*target.device)) {}

  Choice Run() {
    if (target_.conv && !WhyNot(*target_.conv, nest_, type_)) {
      return {Execute(*target_.conv), std::string(Name(Automatic()))};
    }
    const Algorithm chosen = Automatic();
    return {Execute(chosen), runner_up_};
  }

 private:
  bool Valid(Algorithm algorithm) const { return !WhyNot(algorithm, nest_, type_); }

  Algorithm Automatic() {
    runner_up_.clear();
    if (Valid(Algorithm::kDepthwise)) {
      runner_up_ = Name(Algorithm::kImplicitGemm);
      return Algorithm::kDepthwise;
    }
    // Half and narrower types on matrix units leave nothing for transforms to gain.
    if (ProductPipe() == Pipe::kTensor && Bits(type_) < 32) {
      runner_up_ = Name(Algorithm::kIm2colGemm);
      return Algorithm::kImplicitGemm;
    }
    const bool winograd = Valid(Algorithm::kWinograd);
    const std::int64_t longest = nest_.LongestFilter();
    if (winograd && longest == 3) return WinogradOrProduct();
    if (longest > 3 && longest <= library_.winograd.longest_nonfused) return LargeFilter();
    runner_up_ = Name(Algorithm::kIm2colGemm);
    return Algorithm::kImplicitGemm;
  }

  Algorithm WinogradOrProduct() {
    const Execution product = Execute(Algorithm::kImplicitGemm);
    const Execution winograd = Execute(Algorithm::kWinograd);
    bool take = Worth(product, winograd) > kWinogradWorthwhile;
    // Matrix units run the product; Winograd kernels run on vector units.
    if (ProductPipe() == Pipe::kTensor) take = Seconds(winograd) < Seconds(product);
    runner_up_ = Name(take ? Algorithm::kImplicitGemm : Algorithm::kWinograd);
    return take ? Algorithm::kWinograd : Algorithm::kImplicitGemm;
  }

  double Worth(const Execution& product, const Execution& winograd) const {
    const double saving = product.flops().AsDouble() / winograd.flops().AsDouble();
    const Roof roof = FindRoof(*target_.device, WorkKind::kVector, type_, target_.math);
    const auto ridge = RidgePoint(*target_.device, roof);
    return saving * saving * saving * nest_.in_channels.AsDouble() /
           std::pow(nest_.out_channels.AsDouble(), 0.25) /
           std::pow(ridge ? ridge->value() : kUsualRidge, 1.5);
  }

  Algorithm LargeFilter() {
    std::vector<std::pair<double, Algorithm>> order;
    for (const Algorithm algorithm :
         {Algorithm::kImplicitGemm, Algorithm::kWinogradNonfused, Algorithm::kFft}) {
      if (Valid(algorithm)) order.emplace_back(Seconds(Execute(algorithm)), algorithm);
    }
    std::sort(order.begin(), order.end());
    runner_up_ = Name(order.size() > 1 ? order[1].second : Algorithm::kIm2colGemm);
    return order[0].second;
  }

  // Work at a share of the peak, and what goes through memory beside the operands.
  double Seconds(const Execution& execution) const {
    const bool product = execution.algorithm == Algorithm::kImplicitGemm;
    const double vector_share = product ? kProductShare : kTransformedShare;
    double seconds = 0;
    for (const Pipe pipe : {Pipe::kVector, Pipe::kTensor}) {
      const WorkKind kind = pipe == Pipe::kTensor ? WorkKind::kMatrix : WorkKind::kVector;
      const Roof roof = FindRoof(*target_.device, kind, type_, target_.math);
      if (!roof.known) continue;
      const double share = pipe == Pipe::kTensor ? kTensorShare : vector_share;
      seconds += (execution.On(pipe).flops() / roof.peak).value() / share;
    }
    const Bytes extra = execution.ExtraRead() + execution.ExtraWritten();
    if (target_.device->memory.bandwidth) {
      seconds += (extra / *target_.device->memory.bandwidth).value();
    }
    return seconds;
  }

  // cuDNN's tf32 kernels want four channels at a time and leave the rest to vector units; half
  // types are padded instead.
  Pipe ProductPipe() const {
    const Pipe pipe = PipeFor(type_, target_);
    const bool aligned = nest_.in_channels / nest_.groups % 4 == Count(0);
    return pipe == Pipe::kTensor && type_ == DType::kFloat32 && !aligned ? Pipe::kVector : pipe;
  }

  ConvOptions Options(Pipe pipe) const {
    ConvOptions options{.pipe = pipe, .type = type_};
    const bool tensor = pipe == Pipe::kTensor;
    options.tile = ChooseTile(AsGemm(nest_), tensor ? library_.conv_tensor : library_.conv_vector,
                              *target_.device);
    options.convert_layout = tensor && library_.tensor_conv_nhwc && type_ == DType::kFloat32;
    return options;
  }

  Execution Execute(Algorithm algorithm) const {
    switch (algorithm) {
      case Algorithm::kDirect:
        return DirectConv(nest_, Options(Pipe::kVector));
      case Algorithm::kDepthwise:
        return DepthwiseConv(nest_, Options(Pipe::kVector));
      case Algorithm::kIm2colGemm:
        return Im2colConv(nest_, Options(ProductPipe()), library_);
      case Algorithm::kWinograd:
        return FusedWinogradConv(nest_, 2, Options(Pipe::kVector), library_);
      case Algorithm::kWinogradNonfused:
        return NonfusedWinogradConv(nest_, library_.winograd.nonfused_tile, Options(Pipe::kVector),
                                    library_);
      case Algorithm::kFft:
        return FftConv(nest_, FourierTile(), Options(Pipe::kVector), library_);
      default:
        return ImplicitGemmConv(nest_, Options(ProductPipe()), library_);
    }
  }

  // The smallest tile that holds a whole image with its border, or the largest there is.
  int FourierTile() const {
    for (const int tile : library_.fft.tiles) {
      if (nest_.axes[0].out + nest_.axes[0].kernel - 1 <= tile &&
          nest_.axes[1].out + nest_.axes[1].kernel - 1 <= tile) {
        return tile;
      }
    }
    return library_.fft.tiles.back();
  }

  const ConvNest& nest_;
  DType type_;
  const Target& target_;
  const Library& library_;
  std::string runner_up_;
};

}  // namespace

Choice ChooseConv(const ConvNest& nest, DType type, const Target& target) {
  return ConvChooser(nest, type, target).Run();
}

Count LeastConvMacs(const ConvNest& nest, Algorithm algorithm, Count macs) {
  constexpr int kOutputs = 4;
  if (algorithm == Algorithm::kWinograd || algorithm == Algorithm::kWinogradNonfused) {
    Count all = 1, needed = 1;
    for (const ConvAxis& axis : nest.axes) {
      all *= Count(kOutputs) * axis.kernel;
      needed *= kOutputs + axis.kernel - 1;
    }
    return std::min(macs, macs / all * needed);
  }
  if (algorithm == Algorithm::kFft && nest.axes.size() == 2) {
    Count least = macs;
    for (const int tile : {16, 32}) {
      if (nest.axes[0].kernel > tile || nest.axes[1].kernel > tile) continue;
      const Count tiles = nest.batch * CeilDiv(nest.axes[0].out, tile - nest.axes[0].kernel + 1) *
                          CeilDiv(nest.axes[1].out, tile - nest.axes[1].kernel + 1);
      least = std::min(
          least, Count(3) * tile * (tile / 2 + 1) * tiles * nest.in_channels * nest.out_channels);
    }
    return least;
  }
  return macs;
}

}  // namespace dlcost
