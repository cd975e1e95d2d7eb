#include "estimator/sweep/kernel_times.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace dlcost
