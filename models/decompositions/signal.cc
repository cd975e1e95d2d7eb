#include "models/decompositions/decomposition.h"
#include "models/gradients/transform.h"

namespace dlcost {
namespace {

// Frames of `length` samples, every `step` of them, times a window, each transformed.
void WriteStft(FusedNode& f) {
  NodeWriter& w = f.w();
  const OpContext c = f.context();
  const Shape x = f.XShape(0), y = f.YShape();
  const auto number = [&](int input) {
    const std::vector<std::int64_t> numbers = c.InputInts(input);
    if (numbers.size() != 1) throw Unresolved("not one number of samples");
    return numbers[0];
  };
  const std::int64_t step = number(1);
  const std::int64_t length = f.Has(3) ? number(3) : f.Has(2) ? f.XShape(2)[0] : x[1];
  const bool onesided = c.Int("onesided", 1) != 0;
  const std::int64_t parts = x.rank() == 3 ? x[2] : 1;  // real, or real and imaginary
  const auto range = [&](std::int64_t count) {
    return w.Node1("Range", {w.Int(0), w.Int(count), w.Int(1)});
  };
  const TensorId starts = w.Mul(w.Reshape(range(y[1]), {y[1], 1}), w.Int(step));
  const TensorId places = w.Add(starts, range(length));
  TensorId frames = w.Node1("Gather", {w.Reshape(f.X(0), {x[0], x[1], parts}), places},
                            {IntAttribute("axis", 1)});
  if (f.Has(2)) frames = w.Mul(frames, w.Reshape(f.X(2), {length, 1}));
  f.Set(0, WriteTransform(w, frames, 2, onesided, false));
}

void RequireOneAxis(const FusedNode& f) {
  const OpContext c = f.context();
  const bool plain =
      c.Int("signal_ndim", 1) == 1 && c.Int("normalized", 0) == 0 && c.Int("onesided", 1) == 1;
  if (!plain) throw Unresolved("the derivative of this form of transform is not written");
}

// Real numbers along the last axis; complex ones as pairs.
void WriteRfft(FusedNode& f) {
  RequireOneAxis(f);
  NodeWriter& w = f.w();
  Shape shape = f.XShape();
  const std::int64_t axis = shape.Rank() - 1;
  shape.Append(1);
  f.Set(0, WriteTransform(w, w.Reshape(f.X(0), shape), axis, true, false));
}

constexpr Decomposition kSignalDecompositions[] = {
    {"STFT", WriteStft},
    {"Rfft", WriteRfft, kMicrosoft},
};

}  // namespace

std::span<const Decomposition> SignalDecompositions() { return kSignalDecompositions; }

}  // namespace dlcost
