// Models that others made, where a checkout has them beside it; skipped where it has not.

#include <gtest/gtest.h>

#include <filesystem>

#include "estimator/hardware/database.h"
#include "estimator/onnx/reader.h"
#include "estimator/report/report.h"

namespace dlcost {
namespace {

namespace fs = std::filesystem;

class RealModels : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::is_directory(folder_))
      GTEST_SKIP() << "no folder " << folder_ << " beside the sources";
  }

  Report ReportOf(const std::string& file) const {
    const DeviceDatabase database({std::string(DLCOST_SOURCE_DIR) + "/hw_specs"});
    const InferredModel model = Infer(ReadModel((folder_ / file).string()), {});
    ReportOptions options;
    options.plan.fusion = Fusion::kDefault;
    return BuildReport(model, database.Find("a100"), options);
  }

  const fs::path folder_ = fs::path(DLCOST_SOURCE_DIR) / "../shared/models/real";
};

// A mixture of experts by NonZero: nearly all of its products are rows that a router may or may not
// send to an expert.
TEST_F(RealModels, RowsOfExpertsAreUpperBounds) {
  const Report report = ReportOf("gpt_oss.ts.onnx");
  const Doubt::Part& part = report.certainty.doubt.at_most;
  EXPECT_EQ(report.totals.macs, Macs(7'086'080));
  EXPECT_EQ(part.macs, Macs(6'291'456));
  EXPECT_FALSE(report.certainty.causes.empty());
  for (const Certainty::Cause& cause : report.certainty.causes) EXPECT_EQ(cause.op, "NonZero");
  EXPECT_LT(report.totals.bound, part.time) << "nothing of the experts is in the bound";
}

// No row compares its FLOPs with the bytes of another row's kernels: none is above what the
// kernels themselves reach.
TEST_F(RealModels, NoRowIsMoreIntenseThanItsKernels) {
  for (const char* file : {"bert.ts.fused.f32.onnx", "gpt_oss.ts.onnx", "vit.nb4.onnx"}) {
    const Report report = ReportOf(file);
    for (const GroupRow& row : report.by_op) {
      double most = 0;
      for (const KernelRow& kernel : report.kernels) {
        const auto intensity = kernel.sums.intensity();
        if (kernel.op == row.name && intensity) most = std::max(most, intensity->value());
      }
      const double of_row = row.intensity() ? row.intensity()->value() : 0;
      EXPECT_LE(of_row, most * (1 + 1e-12)) << row.name;
    }
  }
}

}  // namespace
}  // namespace dlcost
