#include "models/decompositions/activation.h"
#include "models/decompositions/decomposition.h"

namespace dlcost {
namespace {

// Input, skip, scale, bias: the sum of all but the scale, normalized; output 3 is the sum.
void WriteSkipRms(FusedNode& f) {
  NodeWriter& w = f.w();
  TensorId sum = w.Add(f.X(0), f.X(1));
  if (f.Has(3)) sum = w.Add(sum, f.X(3));
  const double epsilon = f.context().Float("epsilon", 1e-12);
  f.Set(0, w.Node1("SimplifiedLayerNormalization", {sum, f.X(2)},
                   {IntAttribute("axis", -1), RealAttribute("epsilon", epsilon)}));
  f.Set(3, sum);
}

// X, scale, gate: groups as long as the scale, times the activation of the gate.
void WriteGatedRms(FusedNode& f) {
  NodeWriter& w = f.w();
  const OpContext c = f.context();
  const Shape shape = f.XShape(), scale = f.XShape(1);
  const std::int64_t width = scale.Elements().value();
  if (width < 1) throw Unresolved("the scale is empty");
  const Shape rows = {(shape.Elements() / Count(width)).value(), width};
  const TensorId normal =
      w.Node1("SimplifiedLayerNormalization", {w.Reshape(f.X(0), rows), f.X(1)},
              {IntAttribute("axis", -1), RealAttribute("epsilon", c.Float("epsilon", 1e-6))});
  const TensorId gate = Activate(w, f.X(2), c.String("activation", "silu"));
  f.Set(0, w.Mul(w.Reshape(normal, shape), gate));
}

// X, scale, shift, and of SkipGroupNorm skip and bias, which are added first (output 1): groups of
// channels, each with its own statistics.
void WriteGroupNorm(FusedNode& f) {
  NodeWriter& w = f.w();
  const OpContext c = f.context();
  const DType type = f.Type();
  const bool last = c.Int("channels_last", 1) != 0;
  const std::int64_t groups = c.RequiredInt("groups");
  TensorId x = f.X(0);
  if (f.Has(3)) {
    const Shape skip = f.XShape(3);
    x = w.Add(x, skip.rank() == 2 ? w.Reshape(f.X(3), last ? Shape{skip[0], 1, 1, skip[1]}
                                                           : Shape{skip[0], skip[1], 1, 1})
                                  : f.X(3));
  }
  if (f.Has(4)) x = w.Add(x, f.X(4));
  f.Set(1, x);
  if (last) x = w.Transpose(x, {0, 3, 1, 2});
  const Shape shape = w.ShapeOf(x);
  if (groups < 1 || shape.rank() != 4) throw Unresolved("no groups of channels");
  const std::int64_t inside = shape.Product(1, 4).value() / groups;
  const auto all = [&](double value) { return w.Expand(w.Scalar(value, type), {groups}); };
  const TensorId normal =
      w.Node1("InstanceNormalization", {w.Reshape(x, {shape[0], groups, inside}), all(1), all(0)},
              {RealAttribute("epsilon", c.Float("epsilon", 1e-5))});
  const Shape column = {shape[1], 1, 1};
  const auto per_channel = [&](std::size_t i) { return w.Reshape(w.InType(f.X(i), type), column); };
  TensorId y = w.Add(w.Mul(w.Reshape(normal, shape), per_channel(1)), per_channel(2));
  if (last) y = w.Transpose(y, {0, 2, 3, 1});
  f.Set(0, Activate(w, y, c.Int("activation", 0) == 1 ? "silu" : ""));
}

// Rows of the tables for words, positions and, where there are any, segments, added and normalized.
// Output 1 is the length of each sample, output 2 the sum.
void WriteEmbedding(FusedNode& f) {
  NodeWriter& w = f.w();
  const Shape ids = f.XShape(0);
  if (ids.rank() != 2) throw Unresolved("not a batch of tokens");
  const auto rows = [&](std::size_t table, TensorId of) {
    return w.Node1("Gather", {f.X(table), of});
  };
  const TensorId positions = f.Has(8) ? rows(3, f.X(8)) : w.Slice(f.X(3), 0, 0, ids[1]);
  TensorId sum = w.Add(rows(2, f.X(0)), positions);
  if (f.Has(1) && f.Has(4)) sum = w.Add(sum, rows(4, f.X(1)));
  const double epsilon = f.context().Float("epsilon", 1e-12);
  f.Set(0, w.Node1("LayerNormalization", {sum, f.X(5), f.X(6)},
                   {IntAttribute("axis", -1), RealAttribute("epsilon", epsilon)}));
  if (f.HasOutput(1)) {
    const TensorId lengths =
        f.Has(7) ? w.Node1("ReduceSum", {f.X(7), w.Ints({1})}, {IntAttribute("keepdims", 0)})
                 : w.Expand(w.Int(0), {ids[0]});
    f.Set(1, w.InType(lengths, DType::kInt32));
  }
  f.Set(2, sum);
}

constexpr Decomposition kNormalizationDecompositions[] = {
    {"SkipSimplifiedLayerNormalization", WriteSkipRms},
    {"SkipSimplifiedLayerNormalization", WriteSkipRms, kMicrosoft},
    {"GatedRMSNorm", WriteGatedRms, kMicrosoft},
    {"GroupNorm", WriteGroupNorm, kMicrosoft},
    {"SkipGroupNorm", WriteGroupNorm, kMicrosoft},
    {"EmbedLayerNormalization", WriteEmbedding, kMicrosoft},
};

}  // namespace

std::span<const Decomposition> NormalizationDecompositions() {
  return kNormalizationDecompositions;
}

}  // namespace dlcost
