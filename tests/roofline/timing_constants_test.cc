#include "estimator/roofline/timing_constants.h"

#include <gtest/gtest.h>

#include <set>

#include "estimator/core/error.h"

namespace dlcost {
namespace {

TEST(TimingConstants, EveryDefinitionIsInItsRangeAndNamedOnce) {
  std::set<std::string_view> names;
  for (const ConstantDef& def : ConstantDefs()) {
    EXPECT_TRUE(names.insert(def.name).second) << def.name;
    EXPECT_LE(def.low, def.value) << def.name;
    EXPECT_GE(def.high, def.value) << def.name;
    EXPECT_FALSE(def.meaning.empty()) << def.name;
    EXPECT_EQ(FindConstant(def.name), def.id);
  }
}

TEST(TimingConstants, AFileOverridesTheDefault) {
  const TimingConstants constants({{"launch.graph", 5e-6}});
  EXPECT_EQ(constants[Constant::kLaunchGraph], 5e-6);
  EXPECT_EQ(constants[Constant::kLaunchEager], Def(Constant::kLaunchEager).value);
}

TEST(TimingConstants, AnUnknownNameIsAnErrorWithTheNearestOne) {
  try {
    TimingConstants({{"launch.grph", 5e-6}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "timing: unknown constant 'launch.grph' (did you mean 'launch.graph'?)");
  }
}

TEST(TimingConstants, AValueOutsideItsRangeIsAnError) {
  EXPECT_THROW(TimingConstants({{"tensor.efficiency", 7.0}}), Error);
  EXPECT_THROW(TimingConstants({{"launch.graph", -1e-6}}), Error);
}

}  // namespace
}  // namespace dlcost
