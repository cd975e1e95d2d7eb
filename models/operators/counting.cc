#include "models/operators/counting.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "estimator/core/error.h"

namespace dlcost {
namespace {

struct Piece {
  OpClass op_class = OpClass::kAdd;
  int count = 0;
};

struct Activation {
  std::string_view name;
  std::array<Piece, 4> pieces;
};

using enum OpClass;

// Operations per element. The sign of an exponent is free: exp(-x) is one exp. Sources: the
// formulas of the ONNX operators of these names; Gelu by erf, FastGelu and GeluTanh by tanh.
constexpr Activation kActivations[] = {
    {"identity", {}},
    {"linear", {}},
    {"affine", {{{kMul, 1}, {kAdd, 1}}}},
    {"relu", {{{kCompare, 1}}}},
    {"leakyrelu", {{{kCompare, 1}, {kMul, 1}}}},
    {"thresholdedrelu", {{{kCompare, 1}}}},
    {"clip", {{{kCompare, 2}}}},
    {"tanh", {{{kTrig, 1}}}},
    {"scaledtanh", {{{kTrig, 1}, {kMul, 2}}}},
    {"sigmoid", {{{kExp, 1}, {kAdd, 1}, {kDiv, 1}}}},
    {"hardsigmoid", {{{kMul, 1}, {kAdd, 1}, {kCompare, 2}}}},
    {"hardswish", {{{kMul, 2}, {kAdd, 1}, {kCompare, 2}}}},
    {"elu", {{{kCompare, 1}, {kExp, 1}, {kAdd, 1}, {kMul, 1}}}},
    {"softsign", {{{kCompare, 1}, {kAdd, 1}, {kDiv, 1}}}},
    {"softplus", {{{kExp, 1}, {kAdd, 1}, {kLog, 1}}}},
    {"silu", {{{kExp, 1}, {kAdd, 1}, {kDiv, 1}, {kMul, 1}}}},
    {"swish", {{{kExp, 1}, {kAdd, 1}, {kDiv, 1}, {kMul, 1}}}},
    {"quickgelu", {{{kExp, 1}, {kAdd, 1}, {kDiv, 1}, {kMul, 2}}}},
    {"gelu", {{{kMul, 3}, {kTrig, 1}, {kAdd, 1}}}},
    {"fastgelu", {{{kMul, 6}, {kTrig, 1}, {kAdd, 2}}}},
};

}  // namespace

Count Folds(Count elements, Count results) { return std::max(elements - results, Count(0)); }

DType StageOneType(const OpContext& ctx) {
  const std::int64_t number = ctx.Int("stash_type", 1);
  const DType type = number >= 0 && number < kDTypeCount ? DTypeFromOnnx(static_cast<int>(number))
                                                         : DType::kUndefined;
  if (!IsFloat(type)) throw Error("stash_type {} is not a float type", number);
  return type;
}

void AddMoments(Work& work, DType type, Count elements, Count groups) {
  work.Add(kAdd, type, Folds(elements, groups) * 2 + elements + groups);
  work.Add(kMul, type, elements);
  work.Add(kDiv, type, groups * 2);
  work.Add(kSqrt, type, groups);
}

void AddMeanSquare(Work& work, DType type, Count elements, Count groups) {
  work.Add(kMul, type, elements);
  work.Add(kAdd, type, Folds(elements, groups) + groups);
  work.Add(kDiv, type, groups);
  work.Add(kSqrt, type, groups);
}

void AddSoftmax(Work& work, DType type, Count elements, Count rows) {
  work.Add(kCompare, type, Folds(elements, rows));
  work.Add(kAdd, type, elements + Folds(elements, rows));
  work.Add(kExp, type, elements);
  work.Add(kDiv, type, elements);
}

void AddActivation(Work& work, DType type, std::string_view name, Count count) {
  if (name.empty()) return;
  std::string key;
  for (const char c : name) key += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const Activation& activation : kActivations) {
    if (activation.name != key) continue;
    for (const Piece& piece : activation.pieces) {
      work.Add(piece.op_class, type, count * Count(piece.count));
    }
    return;
  }
  throw Error("'{}' is not the name of an activation", Printable(std::string(name)));
}

void AddRequantize(Work& work, Count count) {
  work.Add(kMul, DType::kFloat32, count);
  work.Add(kConvert, DType::kFloat32, count);
  work.Add(kInteger, DType::kInt32, count);
}

void AddZeroPoint(Work& work, const OpContext& ctx, int operand, int zero_point) {
  if (!ctx.HasInput(zero_point)) return;
  work.Add(kInteger, DType::kInt32, ctx.InputShape(operand).Elements());
}

}  // namespace dlcost
