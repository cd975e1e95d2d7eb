#pragma once

#include <string_view>

#include "models/operators/op_context.h"
#include "models/operators/work.h"

namespace dlcost {

// How recurring pieces of arithmetic are counted, so that every family counts them alike.

// Additions (comparisons) that fold `elements` into `results` values: elements - results, none when
// there is nothing to fold.
Count Folds(Count elements, Count results);

// The type that attribute stash_type names for the statistics of a normalization, f32 by default.
// Throws Error when it is not a float type.
DType StageOneType(const OpContext& ctx);

// Mean, centred values and 1/sqrt(variance + epsilon) of `elements` values in `groups` groups, in
// two passes: sum and divide; subtract, square, sum and divide; add epsilon, reciprocal square
// root.
void AddMoments(Work& work, DType type, Count elements, Count groups);

// 1/sqrt(mean square + epsilon): square, sum, divide, add epsilon, reciprocal square root.
void AddMeanSquare(Work& work, DType type, Count elements, Count groups);

// Largest value, differences to it, exponentials, their sum, quotients.
void AddSoftmax(Work& work, DType type, Count elements, Count rows);

// `count` applications of an activation by its name, any case ("Sigmoid", "relu", "Gelu", ...), as
// recurrent and fused operators give it; nothing for "" and "Identity". Sigmoid is exp, add,
// divide; tanh one trig. Throws Error for a name that is not an ONNX activation.
void AddActivation(Work& work, DType type, std::string_view name, Count count);

// Integer accumulator to a quantized output: multiply by the scale, round (a conversion), add the
// zero point.
void AddRequantize(Work& work, Count count);

// Subtracting input `zero_point`, if there is one, from input `operand`: an integer operation per
// element.
void AddZeroPoint(Work& work, const OpContext& ctx, int operand, int zero_point);

}  // namespace dlcost
