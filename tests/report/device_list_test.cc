#include "estimator/report/device_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "estimator/core/error.h"
#include "estimator/hardware/database.h"

namespace dlcost {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
const DeviceDatabase& Database() {
  static const DeviceDatabase database({std::string(DLCOST_SOURCE_DIR) + "/hw_specs"});
  return database;
}

std::vector<std::string> Ids(const DeviceFilter& filter) {
  static const std::vector<Device> all = Database().All();
  std::vector<std::string> ids;
  for (const Device& device : SelectDevices(all, filter)) ids.push_back(device.id);
  return ids;
}

std::string ErrorOf(const DeviceFilter& filter) {
  try {
    Ids(filter);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(DeviceList, FiltersAndSorts) {
  EXPECT_EQ(Ids({.vendor = "aws"}),
            (std::vector<std::string>{"graviton3", "inferentia2", "trainium1", "trainium2"}));
  EXPECT_EQ(Ids({.kind = "tpu", .year = "2023-2024"}),
            (std::vector<std::string>{"tpu-v5e", "tpu-v5p", "tpu-v6e"}));
  EXPECT_EQ(Ids({.vendor = "NVIDIA", .year = "-2014"}), (std::vector<std::string>{"k80"}));
  EXPECT_EQ(Ids({.kind = "tpu", .year = "2023-", .sort = "bandwidth"}),
            (std::vector<std::string>{"tpu-7x", "tpu-v5p", "tpu-v6e", "tpu-v5e"}));
  for (const std::string& key : DeviceSortKeys()) EXPECT_EQ(Ids({.sort = key}).size(), 124u) << key;
}

TEST(DeviceList, ExplainsWhatItDoesNotKnow) {
  EXPECT_EQ(ErrorOf({.vendor = "nvida"}),
            "--vendor 'nvida' is none of AMD, AWS, Apple, Google, Intel, NVIDIA (did you mean "
            "'NVIDIA'?)");
  EXPECT_EQ(ErrorOf({.kind = "fpga"}), "--kind 'fpga' is none of cpu, gpu, npu, tpu");
  EXPECT_THAT(ErrorOf({.sort = "fp61"}), HasSubstr("(did you mean 'fp64'?)"));
  EXPECT_EQ(ErrorOf({.year = "new"}), "--year 'new': write it as 2022, 2020-2023, 2020- or -2018");
}

TEST(DeviceList, TableHasOneLinePerDeviceAndAlignedColumns) {
  const std::string text = DeviceListText(SelectDevices(Database().All(), {.vendor = "Google"}));
  std::istringstream lines(text);
  std::string head, rule, line;
  std::getline(lines, head);
  std::getline(lines, rule);
  int devices = 0;
  while (std::getline(lines, line) && !line.empty()) {
    ++devices;
    EXPECT_LE(line.size(), rule.size());
  }
  EXPECT_EQ(devices, 7);
  EXPECT_THAT(text, HasSubstr("7 devices. "));
}

TEST(DeviceList, DetailsNameEverySourceByNumber) {
  const std::string text = DeviceText(Database().Find("a100"));
  EXPECT_THAT(text, HasSubstr("NVIDIA A100 SXM4 80 GB  (a100-sxm4-80gb)\n"));
  EXPECT_THAT(text, HasSubstr("also called: a100, a100-80"));
  EXPECT_THAT(text, HasSubstr("\n  [1] "));
  // As many references as numbers, and every number has its document.
  for (std::size_t at = text.find('['); at != std::string::npos; at = text.find('[', at + 1)) {
    const std::string number = text.substr(at, text.find(']', at) - at + 1);
    EXPECT_THAT(text, HasSubstr("\n  " + number + " ")) << number;
  }
  // 312 TFLOP/s over 2039 GB/s.
  EXPECT_THAT(text, HasSubstr("153.0"));
  EXPECT_THAT(text, HasSubstr("fp8 runs as fp16"));
  EXPECT_THAT(DeviceText(Database().Find("mi300x")),
              HasSubstr("elsewhere: 653.7 (data sheet) vs 490.3"));
}

TEST(DeviceList, JsonSaysTheSame) {
  const nlohmann::json one = nlohmann::json::parse(DeviceJson(Database().Find("a100")));
  EXPECT_EQ(one["schema"], "dlcost.device/1");
  EXPECT_EQ(one["id"], "a100-sxm4-80gb");
  EXPECT_EQ(one["memory"]["bandwidth"], 2039e9);
  EXPECT_EQ(one["memory"]["sustained_bandwidth"], nullptr);
  EXPECT_FALSE(one["facts"].empty());
  for (const nlohmann::json& roof : one["roofs"]) {
    if (roof["dtype"] == "f32" && roof["math"] == "tf32") {
      EXPECT_EQ(roof["per_second"], 156e12);
      EXPECT_EQ(roof["unit"], "tensor");
    }
  }
  const nlohmann::json all = nlohmann::json::parse(DeviceListJson(Database().All()));
  EXPECT_EQ(all["schema"], "dlcost.devices/1");
  EXPECT_EQ(all["devices"].size(), 124u);
}

}  // namespace
}  // namespace dlcost
