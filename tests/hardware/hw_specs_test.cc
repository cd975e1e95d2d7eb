// Every device of hw_specs/ against its own arithmetic and against the rules of the format.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "estimator/core/error.h"
#include "estimator/hardware/database.h"

namespace dlcost {
namespace {

const std::string kDirectory = std::string(DLCOST_SOURCE_DIR) + "/hw_specs";

const std::vector<Device>& Devices() {
  static const std::vector<Device> devices = DeviceDatabase({kDirectory}).All();
  return devices;
}

std::string Path(const Rate& rate) {
  return std::string("rates.") + std::string(Name(rate.unit)) + "." + std::string(Name(rate.input));
}

const Fact& FactOf(const Device& device, const Rate& rate) {
  const std::string path = Path(rate);
  for (const std::string& name : {path + "/" + std::string(Name(rate.accumulate)), path}) {
    if (const Fact* fact = device.FindFact(name)) return *fact;
  }
  throw Error("{}: no fact for {}", device.id, path);
}

TEST(HwSpecs, HasTheDevicesPeopleAskFor) {
  EXPECT_GE(Devices().size(), 124u);
  const std::map<std::string, std::string> expected = {{"p4", "p4"},
                                                       {"p40", "p40"},
                                                       {"p100", "p100-sxm2"},
                                                       {"v100", "v100-sxm2-16gb"},
                                                       {"t4", "t4"},
                                                       {"a100", "a100-sxm4-80gb"},
                                                       {"A100-40", "a100-sxm4-40gb"},
                                                       {"a100-pcie", "a100-pcie-80gb"},
                                                       {"l4", "l4"},
                                                       {"l40s", "l40s"},
                                                       {"4090", "rtx-4090"},
                                                       {"h100", "h100-sxm5"},
                                                       {"h100-pcie", "h100-pcie"},
                                                       {"h200", "h200-sxm"},
                                                       {"b200", "b200"},
                                                       {"mi300x", "mi300x"},
                                                       {"8480+", "xeon-platinum-8480plus"},
                                                       {"trn2", "trainium2"},
                                                       {"tpu-v4", "tpu-v4"},
                                                       {"m2-max", "m2-max-38c"}};
  const DeviceDatabase database({kDirectory});
  for (const auto& [name, id] : expected) EXPECT_EQ(database.Find(name).id, id);
  EXPECT_THAT([&] { database.Find("a10o"); }, ::testing::ThrowsMessage<Error>(::testing::HasSubstr(
                                                  "unknown device 'a10o' (did you mean 'a10")));
}

TEST(HwSpecs, NamesAreUnique) {
  std::map<std::string, std::string> seen;
  for (const Device& device : Devices()) {
    std::vector<std::string> names = device.aliases;
    names.push_back(device.id);
    for (const std::string& name : names) {
      const auto [it, added] = seen.emplace(name, device.id);
      EXPECT_TRUE(added) << name << " names both " << it->second << " and " << device.id;
      EXPECT_EQ(name.find_first_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ /,"), std::string::npos) << name;
    }
  }
  const DeviceDatabase database({kDirectory});
  for (const auto& [name, id] : seen) EXPECT_EQ(database.Find(name).id, id) << name;
}

TEST(HwSpecs, EveryNumberHasASource) {
  for (const Device& device : Devices()) {
    for (const Fact& fact : device.facts) {
      if (fact.path == "memory.type") continue;
      EXPECT_NE(fact.source, "") << device.id << ": " << fact.path;
    }
  }
}

TEST(HwSpecs, EveryDeviceHasWhatTheModelsNeed) {
  for (const Device& device : Devices()) {
    SCOPED_TRACE(device.id);
    EXPECT_NE(device.vendor, "");
    EXPECT_NE(device.architecture, "");
    EXPECT_NE(device.confidence, "");
    EXPECT_TRUE(device.memory.bandwidth.has_value());
    EXPECT_FALSE(device.rates.empty());
    if (device.memory.sustained) {
      EXPECT_LE(*device.memory.sustained, *device.memory.bandwidth);
    }
    if (device.kind == DeviceKind::kGpu) {
      EXPECT_TRUE(device.memory.size.has_value());
    }
    for (const Rate& rate : device.rates) {
      if (rate.unit == UnitKind::kTensor) {
        EXPECT_NE(device.tensor_name, "");
      }
    }
  }
}

// A document's peak must follow from units x operations per clock x clock within 2 %, or the file
// says why it does not. A reason without need is an error too: it would hide the next mistake.
TEST(HwSpecs, ArithmeticChecksTheDocuments) {
  int checked = 0;
  for (const Device& device : Devices()) {
    if (!device.units) continue;
    for (const UnitRate& unit_rate : device.unit_rates) {
      const Rate* rate = device.FindRate(unit_rate.unit, unit_rate.input, unit_rate.accumulate);
      const auto clock = unit_rate.unit == UnitKind::kTensor && device.tensor_clock &&
                                 unit_rate.input != NumberFormat::kFp64
                             ? device.tensor_clock
                         : device.boost_clock ? device.boost_clock
                                              : device.base_clock;
      if (!rate || !clock) continue;
      const double computed = *device.units * unit_rate.per_clock * clock->value();
      const double difference = rate->peak.value() / computed - 1;
      const Fact& fact = FactOf(device, *rate);
      EXPECT_EQ(std::abs(difference) > 0.02, !fact.differs.empty())
          << device.id << ": " << fact.path << " is " << fact.text << ", arithmetic gives "
          << computed / 1e12 << " T/s (" << difference * 100 << " %): " << fact.differs;
      ++checked;
    }
  }
  EXPECT_GT(checked, 400);
}

// Dense peaks only: a table that mixes in sparse figures breaks these ratios.
TEST(HwSpecs, RatesOfOneDeviceFitTogether) {
  for (const Device& device : Devices()) {
    SCOPED_TRACE(device.id);
    const Rate* fp16 = device.FindRate(UnitKind::kTensor, NumberFormat::kFp16, NumberFormat::kFp32);
    const Rate* fp8 = device.FindRate(UnitKind::kTensor, NumberFormat::kFp8, NumberFormat::kFp32);
    const Rate* fp32 = device.FindRate(UnitKind::kVector, NumberFormat::kFp32);
    const Rate* fp64 = device.FindRate(UnitKind::kVector, NumberFormat::kFp64);
    if (fp16 && fp8 && device.vendor == "NVIDIA") {
      EXPECT_NEAR(fp8->peak / fp16->peak, 2, 0.05);
    }
    if (fp32 && fp64) {
      EXPECT_LE(fp64->peak, fp32->peak);
    }
    std::set<std::string> formats;
    for (const NumberFormat format : device.sparsity) {
      EXPECT_TRUE(device.FindRate(UnitKind::kTensor, format)) << Name(format);
    }
  }
}

}  // namespace
}  // namespace dlcost
