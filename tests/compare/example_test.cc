#include <gmock/gmock.h>

#include "estimator/compare/compare.h"
#include "estimator/hardware/database.h"
#include "estimator/infer/infer.h"
#include "estimator/onnx/reader.h"
#include "tests/profiles/fixture.h"

// The example of docs/examples/measured: profiles that ONNX Runtime wrote on a CPU.
namespace dlcost {
namespace {

struct Example {
  const char* network;
  std::size_t nodes;
  std::int64_t tokens = 0;
};

class MeasuredExample : public testing::TestWithParam<Example> {};

TEST_P(MeasuredExample, EveryNodeIsJoinedByNameAndNoneBeatsItsBound) {
  const std::string source = DLCOST_SOURCE_DIR;
  const std::string folder = source + "/docs/examples/measured/";
  InferOptions options;
  options.bindings.batch = 1;
  if (GetParam().tokens > 0) options.bindings.dims["sequence"] = GetParam().tokens;
  const InferredModel model =
      Infer(ReadModel(source + "/models/networks/" + GetParam().network + ".onnx"), options);
  const std::optional<Device> device =
      DeviceDatabase({source + "/hw_specs"}).Find(folder + "two-zen5-cores.yaml");
  const Report report = BuildReport(model, device, {});
  const Measurement profile = ReadMeasurementFile(folder + GetParam().network + ".json.gz");
  const Comparison c = Compare(report, {profile}, {}, device);
  EXPECT_EQ(profile.format, "onnxruntime");
  EXPECT_TRUE(c.unmatched_kernels.empty());
  EXPECT_TRUE(c.unmatched_nodes.empty());
  std::size_t nodes = 0;
  for (const CompareRow& row : c.rows) {
    nodes += row.nodes.size();
    EXPECT_EQ(row.measured.joined_by, "name") << row.node;
    // The clock of the profile ticks in microseconds: shorter times may read as less.
    if (row.bound && row.bound->value() > 2e-6) {
      EXPECT_GT(*row.measured.time, *row.bound) << row.node;
    }
  }
  EXPECT_EQ(nodes, GetParam().nodes);
}

INSTANTIATE_TEST_SUITE_P(Networks, MeasuredExample,
                         testing::Values(Example{"resnet50", 230}, Example{"mobilenet-v2", 206},
                                         Example{"bert-base", 585, 128}),
                         [](const auto& example) {
                           std::string name = example.param.network;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace dlcost
