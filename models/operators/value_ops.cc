#include "models/operators/value_ops.h"

#include <cmath>

#include "estimator/core/error.h"
#include "estimator/core/integer.h"

namespace dlcost {
namespace {

std::int64_t WrapTo(DType type, std::int64_t value) {
  const int bits = Bits(type);
  if (type == DType::kBool) return value != 0 ? 1 : 0;
  if (bits >= 64 || bits == 0) return value;
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  const std::uint64_t low = static_cast<std::uint64_t>(value) & mask;
  const bool negative = IsSigned(type) && ((low >> (bits - 1)) & 1) != 0;
  return static_cast<std::int64_t>(negative ? low | ~mask : low);
}

// Precision of narrower floats is left alone: no exporter does shape arithmetic in them.
double RoundTo(DType type, double value) {
  return type == DType::kFloat32 ? static_cast<double>(static_cast<float>(value)) : value;
}

std::uint64_t U(std::int64_t value) { return static_cast<std::uint64_t>(value); }

}  // namespace

std::int64_t WrapAdd(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(U(a) + U(b));
}
std::int64_t WrapSub(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(U(a) - U(b));
}
std::int64_t WrapMul(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(U(a) * U(b));
}

std::int64_t ScalarInput(const OpContext& ctx, int i) {
  const std::vector<std::int64_t> ints = ctx.InputInts(i);
  if (ints.size() != 1) throw Error("input {} has {} elements where 1 is required", i, ints.size());
  return ints.front();
}

std::vector<std::int64_t> RowMajorStrides(const Shape& shape) {
  std::vector<std::int64_t> strides(shape.rank(), 1);
  for (std::size_t axis = shape.rank(); axis-- > 1;) {
    strides[axis - 1] = WrapMul(strides[axis], shape[axis]);
  }
  return strides;
}

Indices BroadcastIndices(const Shape& from, const Shape& to) {
  std::vector<std::int64_t> strides = RowMajorStrides(from);
  for (std::size_t axis = 0; axis < from.rank(); ++axis) {
    if (from[axis] == 1) strides[axis] = 0;
  }
  const std::size_t skipped = to.rank() - from.rank();
  Indices indices;
  indices.reserve(static_cast<std::size_t>(to.Elements().value()));
  ForEachElement(to, [&](const std::vector<std::int64_t>& at) {
    std::int64_t flat = 0;
    for (std::size_t axis = 0; axis < strides.size(); ++axis) {
      flat += strides[axis] * at[axis + skipped];
    }
    indices.push_back(static_cast<std::size_t>(flat));
  });
  return indices;
}

Value Take(const Value& value, const Indices& indices) {
  const auto take = [&indices](const auto& from) {
    std::decay_t<decltype(from)> to;
    to.reserve(indices.size());
    for (const std::size_t i : indices) to.push_back(from.at(i));
    return Value(std::move(to));
  };
  return value.is_integer() ? take(value.ints()) : take(value.reals());
}

void SetTaken(OpContext& ctx, const Indices& indices, int output) {
  if (const Value* value = ctx.InputValue(0)) ctx.SetOutputValue(output, Take(*value, indices));
}

void SetReals(OpContext& ctx, int output, std::vector<double> reals) {
  if (!ctx.HasOutput(output)) return;
  const DType type = ctx.OutputType(output);
  if (IsFloat(type)) {
    for (double& real : reals) real = RoundTo(type, real);
    ctx.SetOutputValue(output, Value(std::move(reals)));
    return;
  }
  std::vector<std::int64_t> ints;
  ints.reserve(reals.size());
  for (const double real : reals) {
    if (type == DType::kBool) {
      ints.push_back(real != 0 ? 1 : 0);
    } else {
      const std::optional<std::int64_t> integer = TryTruncate(real);
      if (!integer) return;
      ints.push_back(WrapTo(type, *integer));
    }
  }
  ctx.SetOutputValue(output, Value(std::move(ints)));
}

void SetInts(OpContext& ctx, int output, std::vector<std::int64_t> ints) {
  if (!ctx.HasOutput(output)) return;
  const DType type = ctx.OutputType(output);
  if (IsFloat(type)) {
    std::vector<double> reals;
    reals.reserve(ints.size());
    for (const std::int64_t value : ints)
      reals.push_back(RoundTo(type, static_cast<double>(value)));
    ctx.SetOutputValue(output, Value(std::move(reals)));
    return;
  }
  for (std::int64_t& value : ints) value = WrapTo(type, value);
  ctx.SetOutputValue(output, Value(std::move(ints)));
}

void MapUnary(OpContext& ctx, UnaryReal real, UnaryInt integer) {
  const Value* value = ctx.InputValue(0);
  if (value == nullptr) return;
  if (value->is_integer() && integer != nullptr) {
    std::vector<std::int64_t> ints;
    for (const std::int64_t element : value->ints()) {
      const MaybeInt result = integer(element);
      if (!result) return;
      ints.push_back(*result);
    }
    SetInts(ctx, 0, std::move(ints));
  } else if (!value->is_integer() && real != nullptr) {
    std::vector<double> reals;
    for (const double element : value->reals()) reals.push_back(real(element));
    SetReals(ctx, 0, std::move(reals));
  }
}

void MapBinary(OpContext& ctx, int a, int b, const Shape& b_shape, BinaryReal real,
               BinaryInt integer) {
  const Value* x = ctx.InputValue(a);
  const Value* y = ctx.InputValue(b);
  if (x == nullptr || y == nullptr) return;
  const Shape& result = ctx.OutputShape(0);
  const Indices xs = BroadcastIndices(ctx.InputShape(a), result);
  const Indices ys = BroadcastIndices(b_shape, result);
  if (x->is_integer() && y->is_integer()) {
    if (integer == nullptr) return;
    std::vector<std::int64_t> ints;
    for (std::size_t i = 0; i < xs.size(); ++i) {
      const MaybeInt element = integer(x->ints().at(xs[i]), y->ints().at(ys[i]));
      if (!element) return;
      ints.push_back(*element);
    }
    SetInts(ctx, 0, std::move(ints));
  } else if (real != nullptr) {
    std::vector<double> reals;
    for (std::size_t i = 0; i < xs.size(); ++i)
      reals.push_back(real(x->Real(xs[i]), y->Real(ys[i])));
    SetReals(ctx, 0, std::move(reals));
  }
}

void FoldInputs(OpContext& ctx, BinaryReal real, BinaryInt integer) {
  const Shape& result = ctx.OutputShape(0);
  std::vector<double> reals;
  std::vector<std::int64_t> ints;
  for (int i = 0; i < ctx.NumInputs(); ++i) {
    const Value* value = ctx.InputValue(i);
    if (value == nullptr) return;
    const Indices indices = BroadcastIndices(ctx.InputShape(i), result);
    const Value taken = Take(*value, indices);
    if (i == 0) {
      if (taken.is_integer()) {
        ints = taken.ints();
      } else {
        reals = taken.reals();
      }
      continue;
    }
    if (taken.is_integer() != reals.empty()) return;  // mixed representations
    for (std::size_t e = 0; e < reals.size(); ++e) reals[e] = real(reals[e], taken.reals()[e]);
    for (std::size_t e = 0; e < ints.size(); ++e) {
      const MaybeInt element = integer(ints[e], taken.ints()[e]);
      if (!element) return;
      ints[e] = *element;
    }
  }
  if (reals.empty()) {
    SetInts(ctx, 0, std::move(ints));
  } else {
    SetReals(ctx, 0, std::move(reals));
  }
}

}  // namespace dlcost
