#include "estimator/sweep/kernel_times.h"

#include <gtest/gtest.h>

#include <set>

#include "estimator/hardware/database.h"
#include "estimator/plan/kernel_sizes.h"

namespace dlcost {
namespace {

// What a point holds of the kernels that it began with has to last until it ends, however many
// other kernels were run before.
TEST(KernelTimes, StayValidUntilForgotten) {
  const Device device =
      DeviceDatabase::FromEnvironment(DLCOST_SOURCE_DIR "/hw_specs").Find("a100-sxm4-80gb", {});
  KernelTimes times(device, {});
  Kernel kernel;
  std::vector<std::int64_t> sizes;
  std::size_t structure = 0;
  CollectSizes(kernel, sizes, structure);
  const KernelTimes::Time& first = times.Of(0, kernel, sizes);
  const double bound = first.bound;
  for (std::uint32_t number = 1; number <= 100'001; ++number) times.Of(number, kernel, sizes);
  EXPECT_EQ(&times.Of(0, kernel, sizes), &first);
  EXPECT_EQ(first.bound, bound);
  times.ForgetWhenFull();
  EXPECT_EQ(times.Of(0, kernel, sizes).bound, bound);
}

// Kernels of equal sizes that run otherwise are not taken for one another.
TEST(KernelSizes, TellKernelsThatRunOtherwiseApart) {
  const auto structure_of = [](const LoopNest& nest) {
    Kernel kernel;
    kernel.nest = nest;
    std::vector<std::int64_t> sizes;
    std::size_t structure = 0;
    CollectSizes(kernel, sizes, structure);
    return structure;
  };
  const GemmNest product{.m = 4, .n = 4, .k = 4};
  GemmNest transposed = product, of_weights = product;
  transposed.a_transposed = of_weights.b_is_weight = true;
  const ReduceNest rows{.outer = 4, .reduce = 4};
  ReduceNest planes = rows, back = rows, across = rows;
  planes.planes = back.backward = across.backward = across.across = true;
  const std::set<std::size_t> structures = {
      structure_of(product), structure_of(transposed), structure_of(of_weights), structure_of(rows),
      structure_of(planes),  structure_of(back),       structure_of(across)};
  EXPECT_EQ(structures.size(), 7U);
}

}  // namespace
}  // namespace dlcost
