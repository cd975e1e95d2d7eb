#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/operators/op_context.h"

namespace dlcost {

// What the operators' `values` functions are made of: small tensors, row-major, at most
// kMaxValueElements.

// Flat indices into a row-major tensor.
using Indices = std::vector<std::size_t>;

// The distance between neighbours along each axis of a row-major tensor. The shape must fit
// kMaxValueElements.
std::vector<std::int64_t> RowMajorStrides(const Shape& shape);

// Calls visit(coordinates) for every element in row-major order.
template <typename Visitor>
void ForEachElement(const Shape& shape, Visitor visit) {
  std::vector<std::int64_t> at(shape.rank(), 0);
  for (std::int64_t n = shape.Elements().value(); n > 0; --n) {
    visit(static_cast<const std::vector<std::int64_t>&>(at));
    for (std::size_t axis = shape.rank(); axis-- > 0;) {
      if (++at[axis] < shape[axis]) break;
      at[axis] = 0;
    }
  }
}

// For every element of `to`, the element of `from` that numpy broadcasting puts there.
Indices BroadcastIndices(const Shape& from, const Shape& to);

// The elements of `value` at `indices`, in that order.
Value Take(const Value& value, const Indices& indices);
// Sets output 0 to elements of input 0, when its value is known.
void SetTaken(OpContext& ctx, const Indices& indices, int output = 0);

// Sets the value of an output, converted to its element type: integers wrap to the type's width,
// float32 rounds as it would at run time. Leaves the output without a value when a real has no
// counterpart in an integer type (NaN, infinity, out of range).
void SetReals(OpContext& ctx, int output, std::vector<double> reals);
void SetInts(OpContext& ctx, int output, std::vector<std::int64_t> ints);

// Integer functions return nullopt where the result is undefined (division by zero).
using MaybeInt = std::optional<std::int64_t>;
using UnaryReal = double (*)(double);
using UnaryInt = MaybeInt (*)(std::int64_t);
using BinaryReal = double (*)(double, double);
using BinaryInt = MaybeInt (*)(std::int64_t, std::int64_t);

// output 0 = f(input 0), element by element. A null function leaves the output without a value.
void MapUnary(OpContext& ctx, UnaryReal real, UnaryInt integer);
// output 0 = f(a, b) with broadcasting. `b_shape` replaces the shape of input b (the broadcasting
// of opsets before 7 aligns it elsewhere).
void MapBinary(OpContext& ctx, int a, int b, const Shape& b_shape, BinaryReal real,
               BinaryInt integer);
// output 0 = f(...f(input 0, input 1)..., input n-1).
void FoldInputs(OpContext& ctx, BinaryReal real, BinaryInt integer);

// The one integer in input i. Throws Unresolved when it is computed at run time, Error when there
// are more or none.
std::int64_t ScalarInput(const OpContext& ctx, int i);

// Wrapping arithmetic, as integer tensors do it.
std::int64_t WrapAdd(std::int64_t a, std::int64_t b);
std::int64_t WrapSub(std::int64_t a, std::int64_t b);
std::int64_t WrapMul(std::int64_t a, std::int64_t b);

}  // namespace dlcost
