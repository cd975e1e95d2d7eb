#include "estimator/infer/edit.h"

#include <gtest/gtest.h>

namespace dlcost {
namespace {

Tensor Stored(const Shape& shape, std::int64_t bytes) {
  Tensor tensor;
  tensor.is_initializer = true;
  tensor.stored = Bytes(bytes);
  tensor.type.shape = shape;
  return tensor;
}

// A layer of experts of DeepSeek-V3 in bf16: bytes times elements are more than 64 bits hold.
TEST(Edit, PartOfALargeWeightIsStoredInItsPartOfTheBytes) {
  Tensor weight = Stored({256, 4096, 7168}, 2 * 256LL * 4096 * 7168);
  BecomePart(weight, {256, 512, 7168});
  EXPECT_EQ(weight.stored, Bytes(2 * 256LL * 512 * 7168));
  EXPECT_EQ(*weight.type.shape, (Shape{256, 512, 7168}));
}

// Of 9 elements of 4 bits in 5 bytes, 4 take up 20 / 9 bytes.
TEST(Edit, PartsOfBytesAreWholeOnes) {
  Tensor weight = Stored({9}, 5);
  BecomePart(weight, {4});
  EXPECT_EQ(weight.stored, Bytes(3));
  BecomePart(weight, {0});
  EXPECT_EQ(weight.stored, Bytes(0));
}

}  // namespace
}  // namespace dlcost
