#include <algorithm>
#include <cmath>

#include "estimator/core/integer.h"
#include "estimator/roofline/elementwise_time.h"
#include "estimator/roofline/part.h"
#include "estimator/roofline/stream_beside.h"
#include "estimator/roofline/terms.h"
#include "models/algorithms/pointwise.h"

namespace dlcost {
namespace {

// Whether of each row no more is written than a number, as wide as any: means, sums, norms.
bool IsReduction(const Part& part, const ReduceNest& rows) {
  constexpr std::int64_t kWidest = 8;  // bytes, and rows of so many elements are not told apart
  return !rows.windows && rows.plane == Count(0) && rows.reduce > Count(kWidest) &&
         part.written <= (rows.outer * kWidest).AsDouble();
}

StreamKind KindOf(const Part& part) {
  const auto* rows = std::get_if<ReduceNest>(&part.nest);
  if (rows == nullptr) return StreamKind::kElementwise;
  if (rows->backward) return StreamKind::kNormGradient;
  if (IsReduction(part, *rows)) return StreamKind::kReduction;
  // Reductions with exponentials are softmaxes; those with square roots normalizations.
  if (part.work.Of(OpClass::kExp) > Count(0)) return StreamKind::kSoftmax;
  if (part.work.Of(OpClass::kSqrt) > Count(0)) return StreamKind::kNormalization;
  return StreamKind::kElementwise;
}

// Multiply-accumulates and other arithmetic on vector units, special functions on theirs: a quarter
// of the lanes (NVIDIA: 16 of 64 or 128 per SM; AMD: one in four cycles).
void AddArithmetic(const Target& target, const Part& part, StreamProblem& p) {
  const std::optional<ComputeUnit> unit = FindVectorUnit(target, part.type);
  if (!unit) return;
  const auto of = [&](OpClass op_class) { return part.work.Of(op_class).AsDouble(); };
  p.arithmetic_peak = unit->peak;
  p.arithmetic = 2 * of(OpClass::kMac) + of(OpClass::kAdd) + of(OpClass::kMul) +
                 of(OpClass::kCompare) + of(OpClass::kDiv);
  p.specials = of(OpClass::kSqrt) + of(OpClass::kExp) + of(OpClass::kLog) + of(OpClass::kTrig);
  p.special_rate = unit->peak / 2 / 4;
}

// Channels first a library's depthwise kernel takes eight instructions of a lane for each tap, two
// more where operands are narrower than the sum: two for bounds, three for addresses, two loads,
// two conversions, one addition. Channels last libraries have kernels that share what they load.
constexpr double kTapInstructions = 8, kTapConversions = 2;
// For the gradient of weights a block has one tap of one channel, and finds out for each position
// where in the image it is: a division by the width of the image, "up to 20 instructions" (CUDA C++
// Programming Guide, Arithmetic Instructions), its remainder, two to the place in the input, two of
// the loop.
constexpr double kTapPlace = 25;

// A framework's own (PyTorch, aten/src/ATen/native/cuda/DepthwiseConv2d.cu) have a thread for each
// result, which finds its place by divisions and asks for each tap whether it lies in the image, in
// integers, of which a unit has 64 lanes since Volta. Clocks of a unit, in any type, on an H100 and
// an H200 (PyTorch 2.11): of a result, forward (3x3 and 5x5, strides of 1 and 2) and of an input's
// gradient, and for each of its taps.
constexpr double kOwnForward = 1.55, kOwnForwardTap = 0.11;
// Loops over filters of other sizes are not unrolled: what timm's ConvMixers (7 x 7, 9 x 9) leave
// to them on RTX 3090 and 4090 (PyTorch 2.4) is 1.5 to 2 times as much.
constexpr double kOwnForwardAnyTap = 0.22;
constexpr double kOwnBack = 4.1, kOwnBackTap = 0.04;
// A block of the gradient of weights has one tap of one channel: of each position, and of each
// image.
constexpr double kOwnWeights = 0.41, kOwnWeightsImage = 34;

// The filters that PyTorch's sources name: its own loops are unrolled for them, and its rules for
// cuDNN channels first are of them.
bool IsNamedFilter(std::int64_t filter) { return filter == 1 || filter == 3 || filter == 5; }

// Whether PyTorch takes cuDNN's kernel for a depthwise convolution of halves
// (aten/src/ATen/native/Convolution.cpp, check_cudnn_depthwise_workload_with_filter), by the
// filter, the width, and with a stride of two by what was timed. Gradients likewise.
bool TakesLibrary(const ConvNest& conv, DType type, bool channels_last) {
  if (type != DType::kFloat16 || conv.axes.size() != 2) return false;
  const ConvAxis& axis = conv.axes.back();
  const std::int64_t filter = axis.kernel, channels = conv.in_channels.value();
  const std::int64_t width = conv.transposed ? axis.out : axis.in;
  if (filter != conv.axes.front().kernel || channels < 32 || width < 7) return false;
  if (filter > 5) return channels_last;
  if (!IsNamedFilter(filter)) return false;
  if (axis.stride != 2) return axis.stride == 1;
  if (conv.batch == Count(1)) return filter > 1 || width <= 28;
  if (filter == 1) return conv.batch <= Count(16) && channels >= 128 && width <= 7;
  return channels >= 512 || (channels >= 256 && width >= 28);
}

// Clocks that all units take together.
double OwnClocks(const ConvNest& conv, double units) {
  const double taps = conv.Product(&ConvAxis::kernel).AsDouble();
  const double images = conv.batch.AsDouble();
  const double positions = conv.Product(&ConvAxis::out).AsDouble();
  if (conv.of_weights) {
    const double blocks = conv.out_channels.AsDouble() * taps;
    return std::ceil(blocks / units) * units * images *
           (kOwnWeights * positions + kOwnWeightsImage);
  }
  const double results = images * conv.out_channels.AsDouble() * positions;
  if (conv.transposed) return results * (kOwnBack + kOwnBackTap * taps);
  const bool unrolled = IsNamedFilter(conv.axes.back().kernel);
  return results * (kOwnForward + (unrolled ? kOwnForwardTap : kOwnForwardAnyTap) * taps);
}

// The library's channels last: products per clock of a unit, in 16 and 32 bits, and the clocks that
// a result waits for each tap of its filter. 7 x 7 filters of ConvNeXt on an H200 (cuDNN 9,
// conv2d_c1_k1_nhwc and its like, 12 to 1,500 us in bench/published/h200/kernels.csv, within a
// fifth).
struct LastRate {
  double narrow, wide;
};
constexpr LastRate kLastForward = {25, 9.8}, kLastBack = {11.3, 9.8}, kLastWeights = {27, 0.7};
constexpr LastRate kLastWait = {400, 200};

double LastClocks(const ConvNest& conv, DType type, double units) {
  const auto of = [&](const LastRate& rate) { return Bits(type) < 32 ? rate.narrow : rate.wide; };
  const double rate = of(conv.of_weights   ? kLastWeights
                         : conv.transposed ? kLastBack
                                           : kLastForward);
  return MacsOf(conv).AsDouble() / rate +
         of(kLastWait) * conv.Product(&ConvAxis::kernel).AsDouble() * units;
}

// Of a depthwise convolution.
void AddTaps(const Target& target, const Part& part, StreamProblem& p) {
  const auto* conv = std::get_if<ConvNest>(&part.nest);
  if (conv == nullptr) return;
  if (!target.options.converts) {
    if (!part.kernel.general) return;
    p.arithmetic_peak = target.timing->units * target.timing->clock;
    p.arithmetic = LastClocks(*conv, part.type, target.timing->units);
    return;
  }
  if (part.kernel.general && !TakesLibrary(*conv, part.type, part.kernel.channels_last)) {
    p.arithmetic_peak = target.timing->units * target.timing->clock;
    p.arithmetic = OwnClocks(*conv, target.timing->units);
  } else if (const auto unit = FindVectorUnit(target, DType::kFloat32)) {
    const double tap = kTapInstructions + (conv->of_weights ? kTapPlace : 0) +
                       (Bits(part.type) < 32 ? kTapConversions : 0);
    p.arithmetic_peak = unit->peak;
    p.arithmetic = 2 * tap * part.work.Of(OpClass::kMac).AsDouble();
  }
}

// The type of most of its operations: kernels without products are timed by their bytes, whatever
// their type.
DType TypeOf(const Work& work) {
  DType type = DType::kFloat32;
  Count most;
  for (const Work::Entry& entry : work.entries()) {
    Count all;
    for (const Count count : entry.counts) all += count;
    if (all <= most) continue;
    most = all;
    type = entry.dtype;
  }
  return type;
}

// Whether PyTorch normalizes batches by kernels of its own: cuDNN's want statistics in floats, and
// data in floats or halves (aten/src/ATen/native/Normalization.cpp, _select_batch_norm_backend).
bool IsNative(DType type, bool mixed) {
  return type == DType::kBfloat16 || (Bits(type) < 32 && !mixed);
}

// In elements of a kernel that finds their places: what a pooling's result takes, and each element
// of its window; and the least that a block takes, which normalizes one channel of one image.
// Source: PyTorch 2.11 and cuDNN 9 on an H200: windows of 2 x 2 and 3 x 3, averages as maxima;
// batch normalization of channels of 7 x 7 takes as long as of 14 x 14.
constexpr double kPooled = 2.8, kPooledElement = 0.29, kLeastPlane = 205;
// Clocks of a unit for a plane, whichever kernel.
constexpr double kPlaneClocks = 170;

// Halves with statistics in floats, as under autocast: cuDNN takes two at once. Seen by their times
// alone: EfficientNet of 256 images on an A100 takes 25 ms (NVIDIA's DeepLearningExamples), 35 if
// one after the other.
constexpr double kPairs = 2;

double NormalizedPlaces(const Target& target, const Part& part, const ElementwiseNest& elements) {
  // All channels of a pixel lie together, or there is but one pixel.
  const bool last = !target.options.converts || part.kernel.channels_last;
  if (last || elements.plane <= Count(1)) return 0;
  const double places = part.kernel.places.AsDouble(), plane = elements.plane.AsDouble();
  const DType type = TypeOf(part.work);
  if (IsNative(type, elements.mixed)) {
    return places * std::max(1 / kOwnPlanes, kPlaneClocks / plane) * kPlaces;
  }
  return places * std::max(1.0, kLeastPlane / plane) / (Bits(type) < 32 ? kPairs : 1);
}

double PlacesOf(const Target& target, const Part& part) {
  const double places = part.kernel.places.AsDouble();
  if (const auto* rows = std::get_if<ReduceNest>(&part.nest); rows != nullptr && rows->windows) {
    return places * (kPooled + kPooledElement * rows->reduce.AsDouble());
  }
  const auto* elements = std::get_if<ElementwiseNest>(&part.nest);
  const bool normalizes = elements != nullptr && elements->normalizes;
  return normalizes ? NormalizedPlaces(target, part, *elements) : places;
}

// Of a call along rows, as shares of launch.call.
struct RowsCall {
  // What it prepares beyond that of an elementwise function, the layer's own call (kLayerCall)
  // included: on A100, V100, T4 and P4 a softmax takes 7 to 8.5 us longer than an addition, a
  // normalization, which also keeps mean and deviation of its rows, 21 to 27 (fit rows of the
  // smallest sizes).
  double prepares = 0;
  // How much of the call itself is over when the kernel starts: results and what is kept of rows
  // are allocated first. Kernels of normalizations on A100, T4 and P4 that take as long as a call
  // come on top of it, those on V100 run beside it, those of a softmax in between (fit rows).
  double before = 0;
};

RowsCall CallOf(StreamKind kind) {
  switch (kind) {
    case StreamKind::kSoftmax:
      return {.prepares = 0.6, .before = 0.25};
    case StreamKind::kNormalization:
      return {.prepares = 1.7, .before = 0.5};
    case StreamKind::kReduction:
    case StreamKind::kNormGradient:  // not measured: a function's
    case StreamKind::kElementwise:
      break;
  }
  return {};
}

// A copy in another type is two of a framework's operators: one makes the tensor, one fills it
// (PyTorch, aten/src/ATen/native/TensorConversions.cpp: _to_copy is empty_strided and copy_).
constexpr double kCallsOfCopy = 2;

bool IsTypeCopy(const Work& work) {
  for (const Work::Entry& entry : work.entries()) {
    for (int c = 0; c < kOpClassCount; ++c) {
      const bool converts = static_cast<OpClass>(c) == OpClass::kConvert;
      if (!converts && entry.counts[static_cast<std::size_t>(c)] > Count(0)) return false;
    }
  }
  return work.Of(OpClass::kConvert) > Count(0);
}

void ExplainStream(const StreamProblem& p, const StreamTime& t, PartTime& time) {
  TermWriter terms(time.terms);
  terms.Fact("traffic", p.bytes, "B", "read and written");
  terms.Fact("from device memory", 100 * t.miss, "%", "the rest is in the cache");
  if (t.reread_bytes > 0) {
    terms.Fact("read again", t.reread_bytes, "B", "of rows that did not stay in the cache");
  }
  terms.TimeIfAny("launch", time.launch);
  TermWriter side = terms.Longest("together", t.seconds - t.launch_seconds);
  TermWriter passes =
      t.row_seconds > 0 && !p.channels ? side.Norm("passes", t.pass_seconds, 2) : side;
  passes.Time("memory", t.memory_seconds, p.general ? "" : "and the first access");
  passes.Below().Fact("rate", t.rate, "B/s", "sustained for this kind of kernel");
  passes.TimeIfAny("rows", t.row_seconds, "blocks that wait for memory in both passes");
  side.TimeIfAny("one block", t.block_seconds, "its way along a row");
  side.TimeIfAny("instructions", t.place_seconds, "of a kernel for any strides and sizes");
  side.TimeIfAny("arithmetic", t.arithmetic_seconds);
  side.Time("units' share of the bandwidth", t.fill_seconds);
}

}  // namespace

PartRun RunStream(const Target& target, const Part& part) {
  const auto* elements = std::get_if<ElementwiseNest>(&part.nest);
  const bool passes = elements != nullptr && elements->update != nullptr &&
                      target.options.update != UpdateForm::kFused;
  if (passes) return RunUpdate(target, part, *elements->update);
  PartRun run;
  if (target.timing == nullptr || part.bytes() <= 0) return run;
  StreamProblem p;
  p.bytes = part.bytes();
  p.element_bytes = std::max(Bits(part.type), 8) / 8.0;
  p.kind = KindOf(part);
  p.general = part.kernel.general;
  if (const auto* rows = std::get_if<ReduceNest>(&part.nest)) {
    p.rows = rows->outer.AsDouble();
    p.row_elements = rows->reduce.AsDouble();
    p.channels = rows->plane > Count(0);
    p.native = p.channels && IsNative(TypeOf(part.work), true);
    // Else all channels of a pixel lie together: not measured.
    p.general &= !p.channels || target.options.converts;
  }
  p.places = PlacesOf(target, part);
  p.scattered = part.kernel.scattered.AsDouble();
  AddArithmetic(target, part, p);
  AddTaps(target, part, p);
  const StreamTime t = ExpectedStream(*target.timing, p, ConditionsOf(target, part));
  PartTime& time = run.time.emplace();
  time.launch = t.launch_seconds;
  time.units = std::max({t.arithmetic_seconds, t.fill_seconds, t.place_seconds, t.row_seconds});
  time.memory = t.memory_seconds;
  time.seconds = t.seconds;
  time.range = (*target.timing)[Constant::kRangeElementwise];
  const bool activation = elements != nullptr && elements->activation;
  const RowsCall call = CallOf(p.kind);
  const double prepares =
      activation && p.kind == StreamKind::kElementwise ? kLayerCall : call.prepares;
  time.setup = prepares * (*target.timing)[Constant::kLaunchCall];
  time.before = call.before;
  if (elements != nullptr && elements->normalizes) time.setup = SetupOfLayer(*target.timing);
  if (IsTypeCopy(part.work)) time.calls = kCallsOfCopy;
  if (target.options.explain) ExplainStream(p, t, time);
  const bool native =
      elements != nullptr && elements->normalizes && IsNative(TypeOf(part.work), elements->mixed);
  AddBesideStream(target, part, t.reread_bytes, native, run);
  return run;
}

}  // namespace dlcost
