#include "models/gradients/gradient.h"

namespace dlcost {
namespace {

// What reads or writes places that are computed from their numbers.

TensorId Range(NodeWriter& w, std::int64_t count) {
  return w.Node1("Range", {w.Int(0), w.Int(count), w.Int(1)});
}

// 0, step, 2 step, ... along one axis of `rank`, the others ones.
TensorId Along(NodeWriter& w, std::int64_t count, std::int64_t step, std::size_t axis,
               std::size_t rank) {
  Shape shape(std::vector<std::int64_t>(rank, 1));
  shape[axis] = count;
  const TensorId numbers = w.Reshape(Range(w, count), shape);
  return step == 1 ? numbers : w.Mul(numbers, w.Int(step));
}

// grid = base theta', base one row of coordinates and a one per place: dtheta = dgrid' base.
void AffineGridGradient(GradientContext& g) {
  NodeWriter& w = g.w();
  const Shape y = g.YShape();
  const bool corners = g.forward().Int("align_corners", 0) != 0;
  const std::size_t axes = y.rank() - 2;
  const Shape places(std::vector<std::int64_t>(y.begin() + 1, y.end() - 1));
  const std::int64_t all = places.Elements().value();
  const DType type = g.Type();
  std::vector<TensorId> columns;
  for (std::size_t i = 0; i < axes; ++i) {  // the last axis first
    const std::size_t axis = axes - 1 - i;
    const auto size = static_cast<double>(places[axis]);
    // From -1 to 1: at the corners, or at the middles of the first and last place.
    const double step = !corners ? 2 / size : size > 1 ? 2 / (size - 1) : 0;
    const double first = !corners ? 1 / size - 1 : size > 1 ? -1 : 0;
    const TensorId numbers = w.Node1("Cast", {Along(w, places[axis], 1, axis, axes)},
                                     {IntAttribute("to", static_cast<std::int64_t>(type))});
    const TensorId coordinates = w.Add(w.Scale(numbers, step), w.Scalar(first, type));
    columns.push_back(w.Reshape(w.Expand(coordinates, places), {all, 1}));
  }
  columns.push_back(w.Expand(w.Scalar(1, type), {all, 1}));
  const TensorId base = w.Node1("Concat", columns, {IntAttribute("axis", 1)});
  const TensorId dy = w.Reshape(g.dY(), {y[0], all, y.At(-1)});
  g.Set(0, w.Product(dy, true, base, false));
}

// Every element of a column reads the place of the image that it was added to.
void Col2ImGradient(GradientContext& g) {
  NodeWriter& w = g.w();
  const OpContext forward = g.forward();
  const Shape x = g.XShape(), y = g.YShape();
  const std::vector<std::int64_t> block = forward.InputInts(2);
  const std::size_t axes = block.size();
  const std::vector<std::int64_t> ones(axes, 1), none(2 * axes, 0);
  const std::vector<std::int64_t> dilations = forward.Ints("dilations", ones);
  const std::vector<std::int64_t> strides = forward.Ints("strides", ones);
  const std::vector<std::int64_t> pads = forward.Ints("pads", none);
  if (y.rank() != axes + 2 || dilations.size() != axes || strides.size() != axes ||
      pads.size() != 2 * axes) {
    throw Unresolved("not a number for every axis of the image");
  }
  std::vector<std::int64_t> around(2 * y.rank(), 0);
  for (std::size_t i = 0; i < axes; ++i) {
    around[2 + i] = pads[i];
    around[2 + i + y.rank()] = pads[i + axes];
  }
  const TensorId padded = w.Node1("Pad", {g.dY(), w.Ints(around)});
  const Shape image = w.ShapeOf(padded);
  // Offsets in a block beside those of the blocks.
  TensorId places = kNoTensor;
  const auto add = [&](TensorId term) {
    places = places == kNoTensor ? term : w.Add(places, term);
  };
  Count stride = 1;
  for (std::size_t i = axes; i-- > 0;) {
    const std::int64_t blocks = (image[2 + i] - dilations[i] * (block[i] - 1) - 1) / strides[i] + 1;
    add(Along(w, block[i], (stride * dilations[i]).value(), i, 2 * axes));
    add(Along(w, blocks, (stride * strides[i]).value(), axes + i, 2 * axes));
    stride *= image[2 + i];
  }
  const TensorId flat = w.Reshape(padded, {y[0], y[1], stride.value()});
  const TensorId columns = w.Node1("Gather", {flat, places}, {IntAttribute("axis", 2)});
  g.Set(0, w.Reshape(columns, x));
}

// What a condition took goes back to where it was.
void CompressGradient(GradientContext& g) {
  NodeWriter& w = g.w();
  const bool flat = !g.forward().HasAttribute("axis");
  const Shape x = g.XShape(), y = g.YShape();
  const std::size_t axis = flat ? 0 : NormalizeAxis(g.forward().Int("axis", 0), x.rank());
  const Shape from = flat ? Shape{x.Elements().value()} : x;
  const Shape taken = {y[axis]};
  const TensorId places = w.Nodes("Compress", "", {Range(w, from[axis]), g.X(1)},
                                  {IntAttribute("axis", 0)}, 1, &taken)[0];
  g.Set(0, w.Reshape(w.Contrib("GatherGrad", {w.Ints(from.dims()), places, g.dY()},
                               {IntAttribute("axis", static_cast<std::int64_t>(axis))}),
                     x));
}

constexpr GradientDef kGridGradients[] = {
    {"AffineGrid", AffineGridGradient}, {"Col2Im", Col2ImGradient}, {"Compress", CompressGradient}};

}  // namespace

std::span<const GradientDef> GridGradients() { return kGridGradients; }

}  // namespace dlcost
