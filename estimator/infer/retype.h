#pragma once

#include "estimator/infer/infer.h"

namespace dlcost {

// What if the model were stored and computed in `dtype`? Every floating-point tensor takes that
// type: bytes follow its width, floating-point work its unit. To an integer type only the
// multiply-accumulates move (their operands quantized); other arithmetic keeps its type. Integer
// tensors, shapes and counts stay as they are.
// Throws Error for a type that cannot hold numbers (bool, string, complex).
void Retype(InferredModel& model, DType dtype);

}  // namespace dlcost
