#include <numeric>

#include "models/decompositions/activation.h"
#include "models/decompositions/decomposition.h"

namespace dlcost {
namespace {

// Channels from the last axis to the second, and back.
TensorId ChannelsInFront(NodeWriter& w, TensorId x) {
  std::vector<std::int64_t> order(w.ShapeOf(x).rank());
  std::iota(order.begin(), order.end(), 0);
  order.insert(order.begin() + 1, order.back());
  order.pop_back();
  return w.Transpose(x, order);
}

TensorId ChannelsLast(NodeWriter& w, TensorId x) {
  std::vector<std::int64_t> order(w.ShapeOf(x).rank());
  std::iota(order.begin(), order.end(), 0);
  order.push_back(1);
  order.erase(order.begin() + 1);
  return w.Transpose(x, order);
}

// x, weight, bias, a summand of the result.
void WriteConv(FusedNode& f, bool last) {
  NodeWriter& w = f.w();
  TensorId x = f.X(0), weight = f.X(1);
  if (f.XShape(0).rank() < 3 || f.XShape(1).rank() < 3) throw Unresolved("no spatial axis");
  if (last) {
    // Files hold the weight as [M, k..., C / group], the schema says [M, C / group, k...].
    const std::int64_t own = f.XShape(0).At(-1) / f.context().Int("group", 1);
    if (f.XShape(1)[1] != own) weight = ChannelsInFront(w, weight);
    x = ChannelsInFront(w, x);
  }
  std::vector<TensorId> inputs = {x, weight};
  if (f.Has(2)) inputs.push_back(f.X(2));
  TensorId y = w.Node1("Conv", inputs, f.AttributesWithout(kActivation));
  if (last) y = ChannelsLast(w, y);
  if (f.Has(3)) y = w.Add(y, f.X(3));
  const OpContext c = f.context();
  f.Set(0, Activate(w, y, c.String("activation", ""), c.Floats("activation_params")));
}
void WriteFusedConv(FusedNode& f) { WriteConv(f, false); }
void WriteNhwcConv(FusedNode& f) { WriteConv(f, true); }

// A depthwise convolution over what came before (zeros where there is no state) and the input; the
// state that it hands on is what the next one begins with.
void WriteCausalConv(FusedNode& f) {
  NodeWriter& w = f.w();
  const OpContext c = f.context();
  const Shape x = f.XShape(0), weight = f.XShape(1);
  if (x.rank() != 3 || c.Int("channels_last", 0) != 0 || c.Int("state_window", 0) > 0) {
    throw Unresolved("the derivative of this form of causal convolution is not written");
  }
  const std::int64_t dilation = c.Int("dilation", 1);
  const std::int64_t reach = (weight.At(-1) - 1) * dilation;
  const Shape state = {x[0], x[1], reach};
  const TensorId past = f.Has(3) ? f.X(3) : w.Zeros(f.Type(), state);
  const TensorId all = w.Node1("Concat", {past, f.X(0)}, {IntAttribute("axis", 2)});
  std::vector<TensorId> inputs = {all, f.X(1)};
  if (f.Has(2)) inputs.push_back(f.X(2));
  const TensorId y = w.Node1("Conv", inputs,
                             {IntAttribute("group", x[1]), IntsAttribute("dilations", {dilation}),
                              IntsAttribute("kernel_shape", {weight.At(-1)})});
  f.Set(0, Activate(w, y, c.String("activation", "none")));
  if (f.HasOutput(1)) f.Set(1, w.Slice(all, 2, x[2], reach));
}

// How far to pad is input 2.
void WritePaddedTranspose(FusedNode& f) {
  NodeWriter& w = f.w();
  std::vector<Attribute> attributes = f.AttributesWithout();
  if (f.Has(2)) attributes.push_back(IntsAttribute("pads", f.context().InputInts(2)));
  std::vector<TensorId> inputs = {f.X(0), f.X(1)};
  if (f.Has(3)) inputs.push_back(f.X(3));
  f.Set(0, w.Node1("ConvTranspose", inputs, attributes));
}

constexpr Decomposition kConvolutionDecompositions[] = {
    {"FusedConv", WriteFusedConv, kMicrosoft},
    {"NhwcConv", WriteNhwcConv, kMicrosoft},
    {"NhwcFusedConv", WriteNhwcConv, kMicrosoft},
    {"CausalConvWithState", WriteCausalConv},
    {"CausalConvWithState", WriteCausalConv, kMicrosoft},
    {"ConvTransposeWithDynamicPads", WritePaddedTranspose, kMicrosoft},
};

}  // namespace

std::span<const Decomposition> ConvolutionDecompositions() { return kConvolutionDecompositions; }

}  // namespace dlcost
