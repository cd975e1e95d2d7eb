// How the operands of a convolution reach its kernel: converted, padded, in what steps.
#include <algorithm>

#include "estimator/roofline/choose.h"
#include "estimator/roofline/choose_conv.h"

namespace dlcost {

// Whether the filter has one tap, which takes every position.
bool ConvChooser::IsMatrixProduct() const {
  return std::all_of(nest_.axes.begin(), nest_.axes.end(), [](const ConvAxis& axis) {
    return axis.kernel == 1 && axis.stride == 1 && axis.in == axis.out;
  });
}

int ConvChooser::ChannelStep() const {
  const int bits = target_.library.conv_tensor_step * 8;
  const bool several = nest_.Product(&ConvAxis::kernel) > Count(1);
  if (nest_.of_weights || !several || Bits(type_) < 16 || IsFirstLayer()) return 0;
  return bits / Bits(type_);
}

// cuDNN 9: ..._image_first_layer_..._k64c4r7s7_stride2.
bool ConvChooser::IsFirstLayer() const {
  return nest_.in_channels <= Count(kFewChannels) && nest_.out_channels == Count(64) &&
         std::all_of(nest_.axes.begin(), nest_.axes.end(),
                     [](const ConvAxis& axis) { return axis.kernel == 7 && axis.stride == 2; });
}

// Filters that are no whole pieces of 16 bytes, and those of groups whose channels are no share of
// a step of 32: HRNet's of 18 and 36, RegNetY's groups of 24.
bool ConvChooser::HasUsualFilters() const {
  constexpr int kStep = 32;
  if (nest_.groups == Count(1)) return InPieces(type_, nest_.out_channels) == nest_.out_channels;
  const Count channels = nest_.in_channels / nest_.groups;
  return kStep % channels.value() == 0 || channels % kStep == Count(0);
}

ConvOptions ConvChooser::Options(Pipe pipe, bool converted) const {
  ConvOptions options{.pipe = pipe, .type = type_};
  const bool tensor = pipe == Pipe::kTensor;
  const bool planes = IsMatrixProduct() && !nest_.transposed && !nest_.of_weights && !converted;
  // Of one position there is but one order.
  const bool several = nest_.Product(&ConvAxis::out) > Count(1);
  options.images_apart = tensor && planes && several && target_.options.converts;
  options.by_tap = tensor && IsByTap();
  options.clears = target_.library.conv_clears && LeavesGaps(nest_);
  const auto tiles = tensor ? TensorTiles() : VectorTiles();
  const std::optional<TileShape> only = OnlyTile();
  const GemmNest gemm = ImplicitGemmOf(nest_, options.by_tap, options.images_apart);
  if (only) {
    options.tile = *only;
  } else {
    options.tile = target_.library.conv_by_rounds ? ChooseTile(gemm, tiles, target_.device)
                                                  : ChooseConvTile(gemm, tiles);
  }
  if (tensor) options.tile = ForBytes(options.tile, Bits(type_) / 8.0);
  const Library& library = target_.library;
  // What is a matrix product of planes stays channels first.
  const bool halves = Bits(type_) == 16 && library.conv_halves_nhwc && !planes;
  const bool floats = type_ == DType::kFloat32 && library.tensor_conv_nhwc && !planes;
  options.convert_layout = tensor && target_.options.converts && (floats || halves);
  options.convert_result = options.convert_layout && (halves || library.conv_floats_nhwc);
  options.channel_step = tensor ? ChannelStep() : 0;
  options.generic_filters =
      options.convert_layout && library.conv_floats_nhwc && !nest_.of_weights && !HasUsualFilters();
  // Of images kernels take what channels there are.
  options.pad_channels = tensor && (halves || (floats && library.conv_floats_nhwc)) &&
                         !options.convert_layout && target_.options.odd_rows &&
                         !IsMatrixProduct() && nest_.groups == Count(1) &&
                         nest_.in_channels > Count(kFewChannels);
  return options;
}

}  // namespace dlcost
