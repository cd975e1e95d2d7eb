#include <algorithm>
#include <functional>
#include <numeric>

#include "models/gradients/gradient.h"
#include "models/operators/transpose.h"

namespace dlcost {
namespace {

// A move's gradient moves back; where it repeated elements, their gradients add up.

void ReshapeGradient(GradientContext& g) { g.Set(0, g.w().Reshape(g.dY(), g.XShape())); }
void ExpandGradient(GradientContext& g) { g.Set(0, g.dY()); }

void TransposeGradient(GradientContext& g) {
  const std::vector<std::int64_t> permutation = PermutationOf(g.forward());
  std::vector<std::int64_t> inverse(permutation.size());
  for (std::size_t i = 0; i < permutation.size(); ++i) {
    inverse[static_cast<std::size_t>(permutation[i])] = static_cast<std::int64_t>(i);
  }
  g.Set(0, g.w().Transpose(g.dY(), inverse));
}

void ConcatGradient(GradientContext& g) {
  const std::size_t axis = NormalizeAxis(g.forward().Int("axis", 1), g.YShape().rank());
  std::int64_t start = 0;
  for (std::size_t i = 0; i < g.NumInputs(); ++i) {
    const std::int64_t length = g.XShape(i)[axis];
    if (g.Wants(i)) {
      g.Set(i, g.w().Slice(g.dY(), static_cast<std::int64_t>(axis), start, length));
    }
    start += length;
  }
}

void SplitGradient(GradientContext& g) {
  std::vector<TensorId> parts;
  for (std::size_t i = 0; i < g.node().outputs.size(); ++i) {
    if (g.Y(i) == kNoTensor) throw Unresolved("a part of the split is left out");
    parts.push_back(g.dY(i) != kNoTensor ? g.dY(i) : g.w().Zeros(g.w().TypeOf(g.X()), g.YShape(i)));
  }
  const std::int64_t axis = g.forward().Int("axis", 0);
  g.Set(0, g.w().Node1("Concat", std::move(parts), {IntAttribute("axis", axis)}));
}

// Zeros around dy; between its elements where the slice took steps.
void SliceGradient(GradientContext& g) {
  NodeWriter& w = g.w();
  const OpContext forward = g.forward();
  const Shape x = g.XShape(), y = g.YShape();
  const bool inputs = g.since() >= 10;
  const std::vector<std::int64_t> starts =
      inputs ? forward.InputInts(1) : forward.RequiredInts("starts");
  std::vector<std::int64_t> axes(starts.size());
  std::iota(axes.begin(), axes.end(), 0);
  if (inputs && g.HasInput(3)) axes = forward.InputInts(3);
  if (!inputs) axes = forward.Ints("axes", axes);
  std::vector<std::int64_t> steps(starts.size(), 1);
  if (inputs && g.HasInput(4)) steps = forward.InputInts(4);
  if (axes.size() != starts.size() || steps.size() != starts.size()) {
    throw Unresolved("not a start and a step for every axis");
  }
  if (std::any_of(steps.begin(), steps.end(), [](std::int64_t step) { return step != 1; })) {
    g.Set(0, w.Contrib("SliceGrad",
                       {g.dY(), w.Ints(x.dims()), g.X(1), g.X(2), w.Ints(axes), w.Ints(steps)}));
    return;
  }
  std::vector<std::int64_t> pads(2 * x.rank(), 0);
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::size_t axis = NormalizeAxis(axes[i], x.rank());
    const std::int64_t size = x[axis];
    const std::int64_t start =
        std::clamp<std::int64_t>(starts[i] < 0 ? starts[i] + size : starts[i], 0, size);
    pads[axis] = start;
    pads[axis + x.rank()] = size - start - y[axis];
  }
  g.Set(0, w.Node1("Pad", {g.dY(), w.Ints(pads)}));
}

void PadGradient(GradientContext& g) {
  const OpContext forward = g.forward();
  const std::string mode = forward.String("mode", "constant");
  const std::vector<std::int64_t> given =
      g.since() >= 11 ? forward.InputInts(1) : forward.RequiredInts("pads");
  const Shape x = g.XShape();
  std::vector<std::int64_t> named(x.rank());
  std::iota(named.begin(), named.end(), 0);
  if (g.HasInput(3)) named = forward.InputInts(3);
  if (given.size() != 2 * named.size()) throw Unresolved("not two pads for every axis");
  std::vector<std::int64_t> pads(2 * x.rank(), 0), back(2 * x.rank(), 0);
  for (std::size_t i = 0; i < named.size(); ++i) {
    const std::size_t axis = NormalizeAxis(named[i], x.rank());
    pads[axis] = given[i];
    pads[axis + x.rank()] = given[i + named.size()];
  }
  if (mode != "constant") {
    // Where some is cut off, what is padded is of the rest.
    if (std::any_of(pads.begin(), pads.end(), [](std::int64_t pad) { return pad < 0; })) {
      throw Unresolved("the derivative of padding with data and cutting off is not written");
    }
    g.Set(0, g.w().Nodes("PadGrad", "dlcost.training", {g.dY(), g.w().Ints(pads)},
                         {TextAttribute("mode", mode)}, 1)[0]);
    return;
  }
  // What was cut off gets zeros.
  if (std::any_of(pads.begin(), pads.end(), [](std::int64_t pad) { return pad < 0; })) {
    std::transform(pads.begin(), pads.end(), back.begin(), std::negate<>());
    g.Set(0, g.w().Node1("Pad", {g.dY(), g.w().Ints(back)}));
    return;
  }
  std::vector<std::int64_t> starts, ends, axes;
  for (std::size_t axis = 0; axis < x.rank(); ++axis) {
    if (pads[axis] == 0 && pads[axis + x.rank()] == 0) continue;
    starts.push_back(pads[axis]);
    ends.push_back(pads[axis] + x[axis]);
    axes.push_back(static_cast<std::int64_t>(axis));
  }
  NodeWriter& w = g.w();
  g.Set(0, axes.empty() ? g.dY()
                        : w.Node1("Slice", {g.dY(), w.Ints(starts), w.Ints(ends), w.Ints(axes)}));
}

// [r0 d0, r1 d1] as [r0, d0, r1, d1], summed over the repeats.
void TileGradient(GradientContext& g) {
  NodeWriter& w = g.w();
  const Shape x = g.XShape(), y = g.YShape();
  Shape parts;
  std::vector<std::int64_t> axes;
  for (std::size_t axis = 0; axis < x.rank(); ++axis) {
    axes.push_back(static_cast<std::int64_t>(parts.rank()));
    parts.Append(x[axis] > 0 ? y[axis] / x[axis] : 0);
    parts.Append(x[axis]);
  }
  g.Set(0, w.Reshape(w.ReduceSum(w.Reshape(g.dY(), parts), axes), x));
}

// Every row of dy is added to the row that it came from.
void GatherGradient(GradientContext& g) {
  const Shape x = g.XShape();
  NodeWriter& w = g.w();
  g.Set(0, w.Contrib("GatherGrad", {w.Ints(x.dims()), g.X(1), g.dY()},
                     {IntAttribute("axis", g.forward().Int("axis", 0))}));
}

void GatherElementsGradient(GradientContext& g) {
  NodeWriter& w = g.w();
  g.Set(0, w.Contrib("GatherElementsGrad", {g.dY(), w.Ints(g.XShape().dims()), g.X(1)},
                     {IntAttribute("axis", g.forward().Int("axis", 0))}));
}

void GatherNdGradient(GradientContext& g) {
  NodeWriter& w = g.w();
  g.Set(0, w.Contrib("GatherNDGrad", {w.Ints(g.XShape().dims()), g.X(1), g.dY()},
                     {IntAttribute("batch_dims", g.forward().Int("batch_dims", 0))}));
}

// Of the values; where they came from is output 1.
void TopKGradient(GradientContext& g) {
  if (g.dY() == kNoTensor) return;
  NodeWriter& w = g.w();
  g.Set(0, w.Contrib("GatherElementsGrad", {g.dY(), w.Ints(g.XShape().dims()), g.Saved(1)},
                     {IntAttribute("axis", g.forward().Int("axis", -1))}));
}

// ScatterElements and ScatterND, and what takes back what they wrote.
struct Scatter {
  GradientContext& g;
  std::string_view op, inverse;
  std::vector<Attribute> attributes;

  TensorId Write(TensorId into, TensorId updates, const char* reduction = "none") const {
    std::vector<Attribute> all = attributes;
    if (std::string_view(reduction) != "none") all.push_back(TextAttribute("reduction", reduction));
    return g.w().Node1(op, {into, g.X(1), updates}, std::move(all));
  }
  TensorId Read(TensorId from) const { return g.w().Node1(inverse, {from, g.X(1)}, attributes); }
};

// The largest or smallest took the gradient; several that are equal share it, as PyTorch's
// scatter_reduce does.
void ScatterExtremeGradient(const Scatter& scatter) {
  GradientContext& g = scatter.g;
  NodeWriter& w = g.w();
  const auto equals = [&](TensorId a, TensorId b) {
    const Attribute to = IntAttribute("to", static_cast<std::int64_t>(g.Type()));
    return w.Node1("Cast", {w.Node1("Equal", {a, b})}, {to});
  };
  const TensorId own = equals(g.X(0), g.Y());
  const TensorId updates = equals(g.X(2), scatter.Read(g.Y()));
  const TensorId share = w.Div(g.dY(), scatter.Write(own, updates, "add"));
  if (g.Wants(0)) g.Set(0, w.Mul(share, own));
  if (g.Wants(2)) g.Set(2, w.Mul(scatter.Read(share), updates));
}

// Data keeps its gradient where nothing was written over it; updates take theirs from there. Sums
// hand it to both.
void ScatterGradient(const Scatter& scatter) {
  GradientContext& g = scatter.g;
  const std::string reduction = g.forward().String("reduction", "none");
  if (reduction == "max" || reduction == "min") return ScatterExtremeGradient(scatter);
  if (reduction != "none" && reduction != "add") {
    throw Unresolved("the derivative of scattering with reduction '" + reduction +
                     "' is not written");
  }
  if (g.Wants(0)) {
    g.Set(0,
          reduction == "add" ? g.dY() : scatter.Write(g.dY(), g.w().Zeros(g.Type(), g.XShape(2))));
  }
  if (g.Wants(2)) g.Set(2, scatter.Read(g.dY()));
}

void ScatterElementsGradient(GradientContext& g) {
  ScatterGradient(
      {g, "ScatterElements", "GatherElements", {IntAttribute("axis", g.forward().Int("axis", 0))}});
}

void ScatterNdGradient(GradientContext& g) { ScatterGradient({g, "ScatterND", "GatherND", {}}); }

// Turned back, sample by sample.
void ReverseSequenceGradient(GradientContext& g) {
  const OpContext forward = g.forward();
  g.Set(0, g.w().Node1("ReverseSequence", {g.dY(), g.X(1)},
                       {IntAttribute("batch_axis", forward.Int("batch_axis", 1)),
                        IntAttribute("time_axis", forward.Int("time_axis", 0))}));
}

// What was cut is padded, and the other way around; of an odd number the smaller half is in front.
void CenterCropPadGradient(GradientContext& g) {
  NodeWriter& w = g.w();
  const Shape x = g.XShape(), y = g.YShape();
  std::vector<std::int64_t> starts, ends, axes, pads(2 * x.rank(), 0);
  for (std::size_t axis = 0; axis < x.rank(); ++axis) {
    if (x[axis] > y[axis]) {
      pads[axis] = (x[axis] - y[axis]) / 2;
      pads[axis + x.rank()] = x[axis] - y[axis] - pads[axis];
    } else if (x[axis] < y[axis]) {
      starts.push_back((y[axis] - x[axis]) / 2);
      ends.push_back(starts.back() + x[axis]);
      axes.push_back(static_cast<std::int64_t>(axis));
    }
  }
  TensorId gradient = g.dY();
  if (!axes.empty()) {
    gradient = w.Node1("Slice", {gradient, w.Ints(starts), w.Ints(ends), w.Ints(axes)});
  }
  const bool pads_any =
      std::any_of(pads.begin(), pads.end(), [](std::int64_t pad) { return pad != 0; });
  g.Set(0, pads_any ? w.Node1("Pad", {gradient, w.Ints(pads)}) : gradient);
}

// From one device's memory to another's.
void CopyGradient(GradientContext& g) { g.Set(0, g.dY()); }

void TriluGradient(GradientContext& g) {
  std::vector<TensorId> inputs = {g.dY()};
  if (g.HasInput(1)) inputs.push_back(g.X(1));
  g.Set(0, g.w().Node1("Trilu", std::move(inputs),
                       {IntAttribute("upper", g.forward().Int("upper", 1))}));
}

// [N, C, H, W] from [N, b, b, C, H/b, W/b] or, for CRD, [N, C, b, b, H/b, W/b].
void DepthToSpaceGradient(GradientContext& g) {
  NodeWriter& w = g.w();
  const Shape x = g.XShape(), y = g.YShape();
  const std::int64_t b = g.forward().RequiredInt("blocksize");
  if (x.rank() != 4 || b < 1) throw Unresolved("not the depth of four axes");
  const TensorId parts = w.Reshape(g.dY(), {y[0], y[1], x[2], b, x[3], b});
  const bool columns = g.forward().String("mode", "DCR") == "CRD";
  g.Set(0, w.Reshape(columns ? w.Transpose(parts, {0, 1, 3, 5, 2, 4})
                             : w.Transpose(parts, {0, 3, 5, 1, 2, 4}),
                     x));
}

void SpaceToDepthGradient(GradientContext& g) {
  g.Set(0, g.w().Node1("DepthToSpace", {g.dY()},
                       {IntAttribute("blocksize", g.forward().RequiredInt("blocksize"))}));
}

// In training: of output 1, which elements stayed.
void DropoutGradient(GradientContext& g) {
  // A view where nothing drops.
  const OpContext forward = g.forward();
  const Value* given = forward.InputValue(1);
  const bool idle = given != nullptr && given->size() == 1 && given->Real(0) == 0;
  if (!g.HasInput(2) || idle) {
    g.Set(0, g.dY());
    return;
  }
  const TensorId mask = g.Saved(1);
  const TensorId ratio = g.HasInput(1) ? g.X(1) : g.w().Scalar(0.5, DType::kFloat32);
  g.Set(0, g.w().Contrib("DropoutGrad", {g.dY(), mask, ratio, g.X(2)}));
}

constexpr GradientDef kMovementGradients[] = {
    {"Reshape", ReshapeGradient},
    {"Flatten", ReshapeGradient},
    {"Squeeze", ReshapeGradient},
    {"Unsqueeze", ReshapeGradient},
    {"Expand", ExpandGradient},
    {"Transpose", TransposeGradient},
    {"Concat", ConcatGradient},
    {"Split", SplitGradient, "", true},
    {"Slice", SliceGradient},
    {"Pad", PadGradient},
    {"Tile", TileGradient},
    {"Gather", GatherGradient},
    {"GatherElements", GatherElementsGradient},
    {"GatherND", GatherNdGradient},
    {"TopK", TopKGradient},
    {"ScatterElements", ScatterElementsGradient},
    {"ScatterND", ScatterNdGradient},
    {"Trilu", TriluGradient},
    {"ReverseSequence", ReverseSequenceGradient},
    {"CenterCropPad", CenterCropPadGradient},
    {"MemcpyFromHost", CopyGradient},
    {"MemcpyToHost", CopyGradient},
    {"DepthToSpace", DepthToSpaceGradient},
    {"SpaceToDepth", SpaceToDepthGradient},
    {"Dropout", DropoutGradient},
};

}  // namespace

std::span<const GradientDef> MovementGradients() { return kMovementGradients; }

}  // namespace dlcost
