#include "estimator/core/shape.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace dlcost {

std::int64_t Shape::At(std::int64_t axis) const { return dims_[NormalizeAxis(axis, dims_.size())]; }

void Shape::ThrowNoAxis(std::size_t axis) const {
  throw Error("the shape {} has no axis {}", ToString(*this), axis);
}

Count Shape::Elements() const { return Product(0, dims_.size()); }

Count Shape::Product(std::size_t first, std::size_t last) const {
  if (last > first) Checked(last - 1);
  // A zero anywhere makes the product zero, even where the others would overflow.
  for (std::size_t i = first; i < last; ++i) {
    if (dims_[i] == 0) return 0;
  }
  Count product = 1;
  for (std::size_t i = first; i < last; ++i) product *= dims_[i];
  return product;
}

std::string ToString(const Shape& shape) {
  return fmt::format("[{}]", fmt::join(shape.dims(), ","));
}

std::size_t NormalizeAxis(std::int64_t axis, std::size_t rank, bool for_insertion) {
  const auto extent = static_cast<std::int64_t>(rank) + (for_insertion ? 1 : 0);
  const std::int64_t normalized = axis < 0 ? axis + extent : axis;
  if (normalized < 0 || normalized >= extent) {
    throw Error("axis {} is outside a tensor of rank {}", axis, rank);
  }
  return static_cast<std::size_t>(normalized);
}

Shape Broadcast(const Shape& a, const Shape& b) {
  const std::size_t rank = std::max(a.rank(), b.rank());
  std::vector<std::int64_t> dims(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t x = i < rank - a.rank() ? 1 : a[i - (rank - a.rank())];
    const std::int64_t y = i < rank - b.rank() ? 1 : b[i - (rank - b.rank())];
    if (x != y && x != 1 && y != 1) {
      throw BroadcastError("shapes {} and {} do not broadcast", ToString(a), ToString(b));
    }
    dims[i] = x == 1 ? y : x;
  }
  return Shape(std::move(dims));
}

}  // namespace dlcost
