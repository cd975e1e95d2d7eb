#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "estimator/core/count.h"
#include "estimator/core/error.h"

namespace dlcost {

// Concrete dimensions of a tensor, all >= 0. A symbol is bound before it gets here.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> dims) : dims_(dims) {}
  explicit Shape(std::vector<std::int64_t> dims) : dims_(std::move(dims)) {}

  std::size_t rank() const { return dims_.size(); }
  int Rank() const { return static_cast<int>(dims_.size()); }
  // An Error when there is no such axis: a file may declare another rank than its nodes make.
  std::int64_t operator[](std::size_t axis) const { return dims_[Checked(axis)]; }
  std::int64_t& operator[](std::size_t axis) { return dims_[Checked(axis)]; }
  // The dimension at a possibly negative axis; an Error when there is no such axis.
  std::int64_t At(std::int64_t axis) const;
  const std::vector<std::int64_t>& dims() const { return dims_; }
  auto begin() const { return dims_.begin(); }
  auto end() const { return dims_.end(); }
  void Append(std::int64_t dim) { dims_.push_back(dim); }

  // Product of all dimensions (1 for a scalar), checked.
  Count Elements() const;
  // Product of the dimensions in [first, last), checked; an Error when there are not as many.
  Count Product(std::size_t first, std::size_t last) const;

  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  std::size_t Checked(std::size_t axis) const {
    if (axis >= dims_.size()) ThrowNoAxis(axis);
    return axis;
  }
  [[noreturn]] void ThrowNoAxis(std::size_t axis) const;

  std::vector<std::int64_t> dims_;
};

// "[1,3,224,224]"; "[]" for a scalar.
std::string ToString(const Shape& shape);

// A negative axis counts from the back: the axis in [0, rank), or an Error.
// `for_insertion` allows axis == rank (Unsqueeze, Concat-of-new-axis): range [-(rank+1), rank].
std::size_t NormalizeAxis(std::int64_t axis, std::size_t rank, bool for_insertion = false);

// Two operands whose shapes do not broadcast.
class BroadcastError : public Error {
 public:
  using Error::Error;
};

// The common shape of numpy-style broadcasting (ONNX "multidirectional"), or a BroadcastError
// naming both shapes.
Shape Broadcast(const Shape& a, const Shape& b);

}  // namespace dlcost
