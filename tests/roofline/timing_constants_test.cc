#include "estimator/roofline/timing_constants.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "estimator/core/error.h"
#include "estimator/hardware/database.h"

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

// docs/timing.md: | `name` | unit | common value | range | GPUs | meaning |
TEST(TimingConstants, TheDocumentTellsEachOne) {
  std::ifstream in(DLCOST_SOURCE_DIR "/docs/timing.md");
  const std::string text(std::istreambuf_iterator<char>(in), {});
  for (const ConstantDef& def : ConstantDefs()) {
    const double unit = def.unit == "s" ? 1e-6 : 1;
    const std::size_t at = text.find(fmt::format("| `{}` |", def.name));
    ASSERT_NE(at, std::string::npos) << def.name;
    EXPECT_THAT(
        text.substr(at, text.find('\n', at) - at),
        testing::HasSubstr(fmt::format(
            "| {:.4g} | {:g} to {:g} | {} | {} |", def.value / unit, def.low / unit,
            def.high / unit, def.scope == ConstantScope::kUniversal ? "all" : "own", def.meaning)));
  }
}

TEST(TimingConstants, AFileOverridesTheDefault) {
  const TimingConstants constants({{"launch.graph", 5e-6}});
  EXPECT_EQ(constants[Constant::kLaunchGraph], 5e-6);
  EXPECT_EQ(constants[Constant::kLaunchHost], Def(Constant::kLaunchHost).value);
}

TEST(TimingConstants, NoDeviceHasOneAtTheEndOfItsRange) {
  for (const Device& device : DeviceDatabase({DLCOST_SOURCE_DIR "/hw_specs"}).All()) {
    for (const auto& [name, value] : device.timing) {
      EXPECT_FALSE(IsAtLimit(Def(*FindConstant(name)), value))
          << device.id << " " << name << " " << value;
    }
  }
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
