// The format of device files: what is read, what is inherited, and what is said about mistakes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "estimator/core/error.h"
#include "estimator/hardware/database.h"
#include "estimator/hardware/timing_basis.h"

namespace dlcost {
namespace {

using ::testing::HasSubstr;

constexpr char kChip[] = R"(name: My Chip
aliases: [chip, the-chip]
kind: gpu
units: {count: 4, name: SM}
clocks: {boost: 1 GHz}
rates:
  source: sheet
  vector:
    fp32: 1 TFLOP/s
    fp16: 2 TFLOP/s [slides]
  tensor:
    fp16/fp16: 16 TFLOP/s [derived from 4 SM x 4096/clk x 1 GHz]
    fp16:
      value: 8 TFLOP/s
      source: sheet, slides
      elsewhere: 9 TFLOP/s in the press
      differs: rounded
memory:
  type: HBM
  size: 16 GiB
  bandwidth: 500 GB/s
caches:
  L3: {size: 32 MiB}
  L2: {size: 4 MiB, sustained: 2 TB/s}
links:
  PCIe 4.0 x16: {bidirectional: 64 GB/s}
timing: {launch: 2.5 us, efficiency: 85 %}
notes: [a note]
sources:
  sheet: My Chip datasheet
  slides: My Chip slides
)";

class DeviceFileTest : public ::testing::Test {
 protected:
  DeviceFileTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "dlcostXXXXXX").string();
    dir_ = mkdtemp(pattern.data());
  }
  ~DeviceFileTest() override { std::filesystem::remove_all(dir_); }

  std::string Write(const std::string& name, const std::string& text) {
    std::ofstream(dir_ / name) << text;
    return (dir_ / name).string();
  }
  Device Read(const std::string& text,
              const std::vector<std::pair<std::string, std::string>>& overrides = {}) {
    return DeviceDatabase({dir_.string()}).Find(Write("my_chip.yaml", text), overrides);
  }
  // The error, with the directory's name cut out.
  std::string ErrorOf(const std::string& text,
                      const std::vector<std::pair<std::string, std::string>>& overrides = {}) {
    try {
      Read(text, overrides);
    } catch (const Error& error) {
      std::string what = error.what();
      const std::string prefix = dir_.string() + "/";
      for (auto at = what.find(prefix); at != std::string::npos; at = what.find(prefix)) {
        what.erase(at, prefix.size());
      }
      return what;
    }
    return "no error";
  }

  std::filesystem::path dir_;
};

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST_F(DeviceFileTest, ReadsEverySection) {
  const Device d = Read(kChip);
  EXPECT_EQ(d.id, "my_chip");
  EXPECT_EQ(d.name, "My Chip");
  EXPECT_EQ(d.units, 4);
  EXPECT_EQ(d.boost_clock, Hertz(1e9));
  ASSERT_EQ(d.rates.size(), 4u);
  EXPECT_EQ(d.FindRate(UnitKind::kTensor, NumberFormat::kFp16, NumberFormat::kFp32)->peak,
            FlopRate(8e12));
  EXPECT_EQ(d.FindRate(UnitKind::kTensor, NumberFormat::kFp16, NumberFormat::kFp16)->peak,
            FlopRate(16e12));
  EXPECT_EQ(d.FindRate(UnitKind::kVector, NumberFormat::kBf16), nullptr);
  EXPECT_EQ(d.memory.size, Bytes(std::int64_t{16} << 30));
  EXPECT_EQ(d.memory.bandwidth, ByteRate(500e9));
  EXPECT_EQ(d.memory.sustained, std::nullopt);
  ASSERT_EQ(d.caches.size(), 2u);
  EXPECT_EQ(d.caches[0].name, "L3");
  EXPECT_EQ(d.caches[1].sustained, ByteRate(2e12));
  EXPECT_EQ(d.WarmCapacity(), Bytes(std::int64_t{36} << 20));
  EXPECT_EQ(d.links[0].name, "PCIe 4.0 x16");
  EXPECT_DOUBLE_EQ(*d.Timing("launch"), 2.5e-6);
  EXPECT_DOUBLE_EQ(*d.Timing("efficiency"), 0.85);
  EXPECT_EQ(d.Timing("nothing"), std::nullopt);
}

TEST_F(DeviceFileTest, EveryValueKnowsItsSource) {
  const Device d = Read(kChip);
  EXPECT_EQ(d.FindFact("rates.vector.fp32")->source, "My Chip datasheet");
  EXPECT_EQ(d.FindFact("rates.vector.fp16")->source, "My Chip slides");
  EXPECT_EQ(d.FindFact("rates.tensor.fp16/fp16")->source, "derived from 4 SM x 4096/clk x 1 GHz");
  const Fact* fact = d.FindFact("rates.tensor.fp16");
  EXPECT_EQ(fact->text, "8 TFLOP/s");
  EXPECT_EQ(fact->source, "My Chip datasheet; My Chip slides");
  EXPECT_EQ(fact->elsewhere, "9 TFLOP/s in the press");
  EXPECT_EQ(fact->differs, "rounded");
  EXPECT_EQ(d.FindFact("memory.bandwidth")->source, "");
}

TEST_F(DeviceFileTest, VariantsInheritAllButTheirNames) {
  Write("base.yaml", kChip);
  const Device d = Read(
      "name: Variant\nextends: base\nmemory: {bandwidth: 1 TB/s}\nnotes: [another]\n"
      "rates: {tensor: {int8: 16 TOP/s}}\n");
  EXPECT_EQ(d.name, "Variant");
  EXPECT_TRUE(d.aliases.empty());
  EXPECT_EQ(d.memory.bandwidth, ByteRate(1e12));
  EXPECT_EQ(d.memory.type, "HBM");
  EXPECT_EQ(d.rates.size(), 5u);
  EXPECT_EQ(d.notes, (std::vector<std::string>{"another", "a note"}));
  EXPECT_EQ(d.FindFact("rates.vector.fp32")->source, "My Chip datasheet");
  EXPECT_EQ(d.files.size(), 2u);
  EXPECT_EQ(Read("name: Variant\nextends: the-chip\n").units, 4);  // by alias
}

TEST_F(DeviceFileTest, OverridesAnswerWhatIf) {
  const Device d = Read(kChip, {{"memory.bandwidth", "8TB/s"},
                                {"caches.L2.size", "80 MiB"},
                                {"rates.tensor.int8", "1 POP/s"},
                                {"links.PCIe 4.0 x16.bidirectional", "128 GB/s"}});
  EXPECT_EQ(d.memory.bandwidth, ByteRate(8e12));
  EXPECT_EQ(d.caches[1].size, Bytes(std::int64_t{80} << 20));
  EXPECT_EQ(d.FindRate(UnitKind::kTensor, NumberFormat::kInt8)->peak, FlopRate(1e15));
  EXPECT_EQ(d.links[0].bidirectional, ByteRate(128e9));
  EXPECT_EQ(d.FindFact("memory.bandwidth")->source, "given on the command line");
  EXPECT_EQ(ErrorOf(kChip, {{"memory.bandwith", "1 TB/s"}}),
            "--set memory.bandwith: unknown key 'bandwith' in 'memory' (did you mean "
            "'bandwidth'?)");
  EXPECT_EQ(ErrorOf(kChip, {{"memory", "1 TB/s"}}), "--set memory: 'memory' is not a single value");
  EXPECT_EQ(ErrorOf(kChip, {{"memory.bandwidth.x", "1"}}),
            "--set memory.bandwidth.x: 'bandwidth' is not a single value");
  EXPECT_EQ(ParseOverride("memory.bandwidth=8TB/s"),
            std::make_pair(std::string("memory.bandwidth"), std::string("8TB/s")));
  EXPECT_THROW(ParseOverride("memory.bandwidth"), Error);
}

TEST_F(DeviceFileTest, MistakesAreFoundByLineAndKey) {
  EXPECT_EQ(ErrorOf(Replaced(kChip, "bandwidth: 500", "bandwith: 500")),
            "my_chip.yaml:21: unknown key 'bandwith' in 'memory' (did you mean 'bandwidth'?)");
  EXPECT_EQ(ErrorOf(Replaced(kChip, "memory:", "memmory:")),
            "my_chip.yaml:18: unknown key 'memmory' (did you mean 'memory'?)");
  EXPECT_EQ(ErrorOf(Replaced(kChip, "500 GB/s", "500 GB")),
            "my_chip.yaml:21: memory.bandwidth: '500 GB' is not a bandwidth, such as "
            "'2039 GB/s'");
  EXPECT_EQ(ErrorOf(Replaced(kChip, "fp32: 1 TFLOP/s", "pf32: 1 TFLOP/s")),
            "my_chip.yaml:9: unknown number format 'pf32' (did you mean 'fp32'?)");
  EXPECT_EQ(ErrorOf(Replaced(kChip, "[slides]", "[slide]")),
            "my_chip.yaml:10: unknown source 'slide' (did you mean 'slides'?); list it under "
            "'sources:' or write 'derived from ...'");
  EXPECT_EQ(ErrorOf(Replaced(kChip, "differs:", "difers:")),
            "my_chip.yaml:17: unknown key 'difers' in a value (did you mean 'differs'?)");
  EXPECT_EQ(ErrorOf(Replaced(kChip, "kind: gpu", "kind: gpuu")),
            "my_chip.yaml:3: kind 'gpuu' is none of gpu, cpu, tpu, npu (did you mean 'gpu'?)");
  EXPECT_EQ(ErrorOf(Replaced(kChip, "16 GiB", "")),
            "my_chip.yaml:20: 'size' has no value; leave the line out when the value is not "
            "public");
  EXPECT_EQ(ErrorOf(Replaced(kChip, "  size: 16 GiB", "  type: HBM2")),
            "my_chip.yaml:20: 'type' is given twice");
  EXPECT_EQ(ErrorOf(Replaced(kChip, "name: My Chip\n", "")),
            "my_chip.yaml:1: no 'name' given, as in 'name: My Chip'");
  EXPECT_EQ(ErrorOf("name: x\nkind: gpu\nrates: {vector: {fp32: 1 TFLOP/s}}\n"),
            "my_chip.yaml:1: no 'memory.bandwidth' given, as in 'memory: {bandwidth: 2039 "
            "GB/s}'");
}

TEST_F(DeviceFileTest, WhatIsNoDeviceFileIsRefused) {
  for (const char* text : {"", "- a\n- b\n", "just text", "a: [1, 2", "a: &x 1\nb: *x\n",
                           "? [a]\n: b\n", "%YAML 9.9\n---\n", "a: 1\n---\nb: 2\n", "\t\x01",
                           "value: 3\n", "name: {}\n", "name: [x]\n"}) {
    EXPECT_THAT(ErrorOf(text), HasSubstr("my_chip.yaml")) << text;
  }
  EXPECT_THAT(ErrorOf("a: " + std::string(100, '[') + std::string(100, ']')),
              HasSubstr("nested too deeply"));
  EXPECT_THAT(ErrorOf(std::string((1 << 20) + 2, '#')), HasSubstr("larger than 1 MiB"));
  EXPECT_THROW(DeviceDatabase({dir_.string()}).Find(dir_.string() + "/nothing.yaml"), Error);
  EXPECT_THROW(DeviceDatabase({dir_.string()}).Find(dir_.string() + "/"), Error);
}

TEST_F(DeviceFileTest, ExtendsMustEnd) {
  Write("a.yaml", "name: A\nextends: b\n");
  Write("b.yaml", "name: B\nextends: a\n");
  const DeviceDatabase database({dir_.string()});
  EXPECT_THAT([&] { database.Find("a"); },
              ::testing::ThrowsMessage<Error>(HasSubstr("goes round in a circle")));
  EXPECT_EQ(ErrorOf("name: x\nextends: nothing\n"), "my_chip.yaml:2: extends unknown 'nothing'");
}

TEST_F(DeviceFileTest, EarlierDirectoriesWin) {
  Write("chip-a.yaml", kChip);
  const auto later = dir_ / "later";
  std::filesystem::create_directory(later);
  Write("later/chip-a.yaml", Replaced(kChip, "My Chip", "Another"));
  Write("later/chip-b.yaml",
        Replaced(Replaced(kChip, "My Chip", "B"), "[chip, the-chip]", "\n- bee # x\n- 'b2'"));
  const DeviceDatabase database({dir_.string(), later.string()});
  EXPECT_EQ(database.Find("CHIP-A").name, "My Chip");
  EXPECT_EQ(database.Find("b2").name, "B");
  EXPECT_EQ(database.Ids(), (std::vector<std::string>{"chip-a", "chip-b"}));
  EXPECT_EQ(database.All().size(), 2u);
  EXPECT_THAT([&] { database.Find("chip-c"); },
              ::testing::ThrowsMessage<Error>(
                  HasSubstr("unknown device 'chip-c' (did you mean 'chip-a'?)")));
  EXPECT_THAT([] { DeviceDatabase({"/nowhere"}).Find("x"); },
              ::testing::ThrowsMessage<Error>(HasSubstr("no device database at '/nowhere'")));
}

TEST_F(DeviceFileTest, ConstantsThatNobodyMeasuredAreAssumedOrANeighbours) {
  Write("near.yaml", R"(calibration:
  measured: [far-chip]
timing: {launch: 7 us, speed: 3}
)");
  const std::string own = Replaced(kChip, "timing: {launch: 2.5 us, efficiency: 85 %}",
                                   R"(calibration:
  measured: [my_chip]
  neighbours: [near]
  assumed: {efficiency: 60 %, width: 2}
timing: {launch: 2.5 us, efficiency: 85 %}
process_nm: 7)");
  const std::string path = Write("my_chip.yaml", own);
  const DeviceDatabase database({dir_.string()});
  const Device measured = database.Find(path);
  EXPECT_DOUBLE_EQ(*measured.Timing("launch"), 2.5e-6);
  EXPECT_DOUBLE_EQ(*measured.Timing("efficiency"), 0.85);
  EXPECT_EQ(measured.Timing("width"), 2);
  EXPECT_EQ(measured.Timing("speed"), 3);
  EXPECT_EQ(measured.process, 7);
  EXPECT_THAT(measured.calibrated_on, ::testing::ElementsAre("my_chip"));

  const Device unmeasured = database.Find(path, {}, {"my_chip"});
  EXPECT_DOUBLE_EQ(*unmeasured.Timing("launch"), 7e-6);
  EXPECT_DOUBLE_EQ(*unmeasured.Timing("efficiency"), 0.6);
  EXPECT_TRUE(unmeasured.calibrated_on.empty());

  const Device alone = database.Find(path, {}, {"my_chip", "far-chip"});
  EXPECT_FALSE(alone.Timing("launch").has_value());
}

TEST_F(DeviceFileTest, WrongCalibrationsAreNamed) {
  const std::string name = "name: x\n";
  EXPECT_EQ(ErrorOf(name + "calibration: {neighbours: [nothing]}\n"),
            "my_chip.yaml:2: neighbours unknown 'nothing'");
  EXPECT_EQ(ErrorOf(name + "calibration: {neighbours: [{a: b}]}\n"),
            "my_chip.yaml:2: 'neighbours' names one device or file");
  EXPECT_EQ(ErrorOf(name + "calibration: {assumed: 5}\n"),
            "my_chip.yaml:2: 'assumed' must hold 'key: value' lines");
}

TEST_F(DeviceFileTest, OverridesReachConstantsThatTheFileDoesNotList) {
  EXPECT_DOUBLE_EQ(*Read(kChip, {{"timing.launch.graph", "3 us"}}).Timing("launch.graph"), 3e-6);
}

TEST_F(DeviceFileTest, TheDocumentedExampleIsADevice) {
  std::ifstream in(std::string(DLCOST_SOURCE_DIR) + "/docs/hardware.md");
  const std::string text(std::istreambuf_iterator<char>(in), {});
  const std::string fence = "```yaml\n";
  const auto begin = text.find(fence);
  ASSERT_NE(begin, std::string::npos);
  const auto end = text.find("```", begin + fence.size());
  const Device d = Read(text.substr(begin + fence.size(), end - begin - fence.size()));
  EXPECT_EQ(d.name, "My Chip");
  EXPECT_EQ(d.rates.size(), 4u);
  for (const Fact& fact : d.facts) {
    if (fact.path == "memory.type") continue;
    EXPECT_NE(fact.source, "") << fact.path;
  }
}

TEST_F(DeviceFileTest, SystolicArraysAreReadAndChecked) {
  const std::string chip(kChip), array = "rows: 256, columns: 128, arrays: 2, vector_rate: 1 TOP/s";
  const SystolicMachine m =
      *Read(chip + "systolic: {" + array +
            ", stationary: outputs, switch_cycles: 64, least_side: 128, array_share: 90 %, "
            "memory_share: 80 %, kernel_time: 3 us}\n")
           .systolic;
  EXPECT_EQ(m, (SystolicMachine{.rows = 256,
                                .columns = 128,
                                .arrays = 2,
                                .stationary = Stationary::kOutputs,
                                .switch_cycles = 64,
                                .least_side = 128,
                                .vector_rate = 1e12,
                                .array_share = 0.9,
                                .memory_share = 0.8,
                                .kernel_time = 3e-6}));
  EXPECT_FALSE(Read(chip).systolic.has_value());
  const auto error = [&](const std::string& section) {
    return ErrorOf(chip + "systolic: {" + section + "}\n");
  };
  EXPECT_THAT(error("rows: 128, columns: 128"),
              HasSubstr("needs rows, columns, arrays and vector"));
  EXPECT_THAT(error(array + ", stationary: inputs"), HasSubstr("none of weights, outputs"));
  EXPECT_THAT(error(array + ", least_side: 256"), HasSubstr("no array that exists"));
  EXPECT_THAT(error(array + ", array_share: 1.1"), HasSubstr("between 0 and 100 %"));
  EXPECT_THAT(error(array + ", kernel_time: 0.75"), HasSubstr("'0.75' is not a time"));
  EXPECT_THAT(error(array + ", depth: 3"), HasSubstr("unknown key 'depth'"));
}

TEST_F(DeviceFileTest, TheBasisOfTimesIsWhereConstantsComeFrom) {
  const DeviceDatabase database({DLCOST_SOURCE_DIR "/hw_specs"});
  EXPECT_EQ(BasisOf(database.Find("a100-sxm4-80gb")), TimingBasis::kMeasured);
  EXPECT_EQ(BasisOf(database.Find("a30")), TimingBasis::kInherited);
  EXPECT_EQ(BasisOf(database.Find("mi300x")), TimingBasis::kInherited);  // from MI100
  EXPECT_EQ(BasisOf(database.Find("tpu-v6e")), TimingBasis::kAssumed);
  EXPECT_EQ(BasisOf(database.Find("epyc-9654")), TimingBasis::kAssumed);
  EXPECT_DOUBLE_EQ(WidenRange(TimingBasis::kMeasured, 0.3), 0.3);
  EXPECT_DOUBLE_EQ(WidenRange(TimingBasis::kInherited, 0.3), 0.45);
  EXPECT_DOUBLE_EQ(WidenRange(TimingBasis::kAssumed, 0.3), std::log(2));
  EXPECT_DOUBLE_EQ(WidenRange(TimingBasis::kAssumed, 0.6), 0.9);
}

TEST_F(DeviceFileTest, EnvironmentComesFirst) {
  Write("chip-a.yaml", kChip);
  setenv("DLCOST_HW_PATH", dir_.c_str(), 1);
  const DeviceDatabase database = DeviceDatabase::FromEnvironment("/built-in");
  unsetenv("DLCOST_HW_PATH");
  EXPECT_EQ(database.directories(), (std::vector<std::string>{dir_.string(), "/built-in"}));
  EXPECT_EQ(database.Find("chip-a").name, "My Chip");
}

}  // namespace
}  // namespace dlcost
