// Every system of hw_specs/systems/ against the rules of the format and its device, and what the
// reader says of wrong files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "estimator/core/error.h"
#include "estimator/hardware/database.h"
#include "estimator/report/system_list.h"
#include "estimator/system/system_database.h"
#include "estimator/system/system_schema.h"

namespace dlcost {
namespace {

const std::vector<std::string> kDirectories = {std::string(DLCOST_SOURCE_DIR) + "/hw_specs"};

const std::vector<System>& Systems() {
  static const std::vector<System> systems = SystemDatabase(kDirectories).All();
  return systems;
}

TEST(Systems, AreThoseThatPeopleAskFor) {
  const SystemDatabase database(kDirectories);
  const std::pair<const char*, const char*> expected[] = {
      {"dgx-1", "dgx-1-v100"},
      {"dgx-1-p100", "dgx-1-p100"},
      {"dgx-2", "dgx-2"},
      {"DGX-A100", "dgx-a100-80gb"},
      {"dgx-h100", "dgx-h100"},
      {"dgx-b200", "hgx-b200"},
      {"nvl72", "gb200-nvl72"},
      {"mi300x-node", "mi300x-node"},
      {"tpu-v4-pod", "tpu-v4-pod"},
      {"tpu-v5p-pod", "tpu-v5p-pod"},
      {"p3.16xlarge", "aws-p3-16xlarge"},
      {"p4d", "aws-p4d-24xlarge"},
      {"p5", "aws-p5-48xlarge"},
      {"a2-highgpu-8g", "gcp-a2-highgpu-8g"},
      {"a3-highgpu-8g", "gcp-a3-highgpu-8g"},
      {"2x-rtx-3090", "workstation-2x-rtx-3090"}};
  for (const auto& [name, id] : expected) EXPECT_EQ(database.Find(name).id, id);
  EXPECT_THAT([&] { database.Find("dgx-h10"); },
              ::testing::ThrowsMessage<Error>(
                  ::testing::HasSubstr("unknown system 'dgx-h10' (did you mean 'dgx-h100'?)")));
}

TEST(Systems, NameTheSourceOfEveryNumber) {
  for (const System& system : Systems()) {
    EXPECT_FALSE(system.confidence.empty()) << system.id;
    for (const Fact& fact : system.facts) {
      EXPECT_FALSE(fact.source.empty()) << system.id << ": " << fact.path;
    }
    for (const SystemLink& link : system.links) {
      EXPECT_FALSE(link.timing.basis.empty()) << link.timing.id;
      for (const Fact& fact : link.timing.facts) {
        EXPECT_FALSE(fact.source.empty()) << link.timing.id << ": " << fact.path;
      }
    }
  }
}

// A device file adds up both directions of the same links.
TEST(Systems, GiveALinkHalfOfWhatItsDeviceAddsUp) {
  const DeviceDatabase devices(kDirectories);
  int compared = 0;
  for (const System& system : Systems()) {
    const Device device = devices.Find(system.device);
    for (const SystemLink& link : system.links) {
      for (const Link& theirs : device.links) {
        if (!theirs.bidirectional || !theirs.name.starts_with(link.name) || link.network) continue;
        EXPECT_NEAR(link.bandwidth.value() / (theirs.bidirectional->value() / 2), 1, 1e-3)
            << system.id << " " << link.name;
        ++compared;
      }
    }
  }
  EXPECT_GE(compared, 15);
}

TEST(Systems, ShareTheCardsOfANodeAmongItsDevices) {
  const System system = SystemDatabase(kDirectories).Find("dgx-1-v100");
  ASSERT_EQ(system.links.size(), 2u);
  EXPECT_TRUE(system.links[1].network);
  // Four cards of 100 Gbit/s for eight devices.
  EXPECT_DOUBLE_EQ(system.links[1].bandwidth.value(), 4 * 100e9 / 8 / 8);
}

TEST(Systems, RenderTheSameInTextAndJson) {
  const System system = SystemDatabase(kDirectories).Find("dgx-h100");
  const auto json = nlohmann::json::parse(SystemJson(system));
  EXPECT_EQ(json["schema"], "dlcost.system/1");
  EXPECT_EQ(json["links"][0]["bandwidth"], 450e9);
  EXPECT_EQ(json["links"][1]["joins"], nullptr);
  EXPECT_THAT(SystemText(system), ::testing::HasSubstr("450.0 GB/s"));
  EXPECT_EQ(nlohmann::json::parse(SystemListJson(Systems()))["systems"].size(), Systems().size());
}

std::string ErrorOf(const std::string& text) {
  const SystemDatabase database(kDirectories);
  const LinkTimingFinder timing = [&](const std::string& name, const std::string& where) {
    try {
      return database.FindLink(name);
    } catch (const Error& error) {
      throw error.At(where);
    }
  };
  try {
    ReadSystem(ParseEntries(text, "mine.yaml"), "mine", timing);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::string Mine(const std::string& from = "", const std::string& to = "") {
  std::string text =
      "name: Mine\n"
      "device: a100\n"
      "node: {devices: 4}\n"
      "links:\n"
      "  NVLink3: {shape: switch, joins: 4, bandwidth: 300 GB/s, timing: nvlink3}\n"
      "network: {name: Net, shape: fat-tree, cards: 1, bandwidth: 25 Gbit/s, timing: ethernet}\n";
  if (!from.empty()) text.replace(text.find(from), from.size(), to);
  return text;
}

TEST(SystemFile, OversubscribesWhatLeavesALeaf) {
  const auto timing = [](const std::string& id, const std::string&) {
    LinkTiming known;
    known.id = id;
    return known;
  };
  const auto read = [&](const std::string& told) {
    const std::string text = Mine("cards: 1", "cards: 1, oversubscription: 4" + told);
    return ReadSystem(ParseEntries(text, "mine.yaml"), "mine", timing).links;
  };
  // 25 Gbit/s for four devices; a quarter of it between leaves of eight nodes.
  const std::vector<SystemLink> leaves = read(", leaf: 8");
  ASSERT_EQ(leaves.size(), 3u);
  EXPECT_EQ(leaves[1].joins, 32);
  EXPECT_DOUBLE_EQ(leaves[1].bandwidth.value(), 25e9 / 8 / 4);
  EXPECT_DOUBLE_EQ(leaves[2].bandwidth.value(), 25e9 / 8 / 16);
  EXPECT_TRUE(leaves[1].network && leaves[2].network);
  const std::vector<SystemLink> nodes = read("");
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_DOUBLE_EQ(nodes[1].bandwidth.value(), 25e9 / 8 / 16);
}

TEST(SystemFile, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(ErrorOf(Mine()), "");
  EXPECT_EQ(ErrorOf(Mine("switch", "swich")),
            "mine.yaml:5: shape 'swich' is none of switch, mesh, torus, tree, fat-tree, rails (did "
            "you mean 'switch'?)");
  EXPECT_EQ(ErrorOf(Mine("joins: 4, ", "")),
            "mine.yaml:5: 'NVLink3' needs joins, bandwidth and timing");
  EXPECT_EQ(ErrorOf(Mine("joins: 4", "joins: 2")),
            "mine.yaml:1: the links join 2 devices, a node has 4");
  EXPECT_EQ(ErrorOf(Mine("nvlink3}", "nvlink33}")).substr(0, 74),
            "mine.yaml:5: unknown family of links 'nvlink33' (did you mean 'nvlink3'?);");
  EXPECT_EQ(ErrorOf(Mine("cards: 1, ", "cards: 0, ")),
            "mine.yaml:6: network.cards: '0' must be greater than zero");
  EXPECT_EQ(ErrorOf(Mine("devices: 4", "device: 4")),
            "mine.yaml:3: unknown key 'device' in 'node' (did you mean 'devices'?)");
  EXPECT_EQ(ErrorOf(Mine("device: a100\n", "")),
            "mine.yaml:1: no 'device' given, as in 'device: a100-sxm4-80gb'");
}

}  // namespace
}  // namespace dlcost
