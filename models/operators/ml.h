#pragma once

#include <initializer_list>
#include <string_view>

#include "models/operators/common.h"
#include "models/operators/elementwise.h"

namespace dlcost {

// Pieces that the families of ai.onnx.ml share.
inline constexpr std::string_view kMlDomain = "ai.onnx.ml";

// [n, features]; one row when the input has rank 1.
struct MlRows {
  std::int64_t rows = 1, features = 0;
};
MlRows RowsOf(const OpContext& ctx);

// Output 0 of a classifier: one label per row, of the type of the class labels. Returns the number
// of classes.
std::int64_t InferLabels(OpContext& ctx, std::int64_t rows, std::string_view int_labels);

// Float attributes whose every number is read once: coefficients, support vectors.
void AddHeldFloats(OpCost& cost, const OpContext& ctx,
                   std::initializer_list<std::string_view> attributes);

// What post_transform does to each of `scores` numbers.
void AddPostTransform(OpCost& cost, std::string_view transform, Count scores);

}  // namespace dlcost
