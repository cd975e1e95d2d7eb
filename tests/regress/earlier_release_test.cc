// Reports as the program of commit aad8c51 wrote them (tests/regress/earlier): before runtimes,
// precisions, micro-batches and traffic of kernels both ways. They read for as long as
// dlcost.report/1 does, and tell nothing that they do not know.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "estimator/core/error.h"
#include "estimator/regress/check.h"
#include "estimator/regress/diff.h"
#include "estimator/regress/render_diff.h"
#include "estimator/regress/report_reader.h"
#include "estimator/report/render.h"
#include "estimator/training/step.h"
#include "tests/regress/variants.h"

namespace dlcost {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Earlier(const std::string& name) {
  return std::string(DLCOST_SOURCE_DIR) + "/tests/regress/earlier/" + name;
}

// The earlier release knew of no bytes that kernels pass on through the cache.
Report AlexNetNow() {
  return variants::ReportOf(variants::Network("alexnet"), "a100", {}, Fusion::kDefault,
                            CacheState::kCold);
}

Report LstmStepNow() {
  const onnx::ModelProto model =
      variants::Network("lstm", {{"layers", "1"}, {"hidden", "64"}, {"vocabulary", "100"}});
  const InferOptions options = {.bindings = {.dims = {{"sequence", 8}}}};
  const InferredModel forward =
      Infer(ReadModelFromBytes(model.SerializeAsString(), "lstm1.onnx"), options);
  ReportOptions report;
  report.plan.fusion = Fusion::kDefault;
  report.plan.fuses = {};  // the earlier release copied slices, which compilers read as they lie
  for (const FusionStep step : FusionSteps()) {
    if (step < FusionStep::kOperands) report.plan.fuses.Add(step);
  }
  report.run.cache = CacheState::kCold;
  return BuildReport(
      InferStep(BuildStep(forward, {.optimizer = "adamw", .loss = "mse"}), forward, options),
      DeviceDatabase({std::string(DLCOST_SOURCE_DIR) + "/hw_specs"}).Find("a100"), report);
}

// What does not depend on how times are predicted is as it was.
void ExpectSameCounts(const Report& then, const Report& now) {
  EXPECT_EQ(then.totals.macs, now.totals.macs);
  EXPECT_EQ(then.totals.flops, now.totals.flops);
  EXPECT_EQ(then.totals.bytes_read, now.totals.bytes_read);
  EXPECT_EQ(then.totals.bytes_written, now.totals.bytes_written);
  EXPECT_EQ(then.totals.bound, now.totals.bound);
  EXPECT_EQ(then.model.parameters, now.model.parameters);
  ASSERT_EQ(then.by_op.size(), now.by_op.size());
  for (const GroupRow& row : now.by_op) {
    const auto found = std::find_if(then.by_op.begin(), then.by_op.end(),
                                    [&](const GroupRow& other) { return other.name == row.name; });
    ASSERT_NE(found, then.by_op.end()) << row.name;
    EXPECT_EQ(found->sums.macs, row.sums.macs) << row.name;
    EXPECT_EQ(found->sums.bytes(), row.sums.bytes()) << row.name;
  }
}

TEST(EarlierRelease, AnInferenceReads) {
  const Report then = ReadReport(Earlier("alexnet-a100.json"));
  EXPECT_EQ(then.totals.macs, Macs(714'188'480));
  EXPECT_EQ(then.model.parameters, Count(61'100'840));
  EXPECT_EQ(then.nodes.size(), 35U);
  EXPECT_EQ(then.kernels.size(), 11U);
  EXPECT_EQ(then.options.runtime, "");
  ExpectSameCounts(then, AlexNetNow());
}

TEST(EarlierRelease, ATrainingStepReads) {
  const Report then = ReadReport(Earlier("lstm-step-a100.json"));
  ASSERT_NE(then.step, nullptr);
  EXPECT_EQ(then.step->optimizer, "adamw");
  EXPECT_EQ(then.step->trained, Count(46'180));
  EXPECT_EQ(then.step->state_bytes, Bytes(369'440));
  EXPECT_EQ(then.step->recompute, "none");  // what a step did when there was nothing else
  EXPECT_EQ(then.step->micro_batches, Count(1));
  EXPECT_EQ(then.by_phase.size(), 5U);
  ExpectSameCounts(then, LstmStepNow());
}

TEST(EarlierRelease, ADifferenceSaysWhatItDidNotTell) {
  const Report then = ReadReport(Earlier("alexnet-a100.json")), now = AlexNetNow();
  const ReportDiff diff = DiffReports(then, now);
  EXPECT_TRUE(diff.changes.empty());
  EXPECT_EQ(diff.same, 19);
  EXPECT_THAT(RenderDiffText(diff, {}),
              HasSubstr("note      before was written by an earlier dlcost, which did not tell "
                        "alignment, convolutions, fuses, layout, planes, quantized, runtime, "
                        "runtime_given, selection, "
                        "update_form "
                        "yet; "
                        "taken as by default"));
  EXPECT_THAT(RenderDiffText(DiffReports(now, now), {}), Not(HasSubstr("earlier dlcost")));
}

TEST(EarlierRelease, IsABaseline) {
  const Report then = ReadReport(Earlier("lstm-step-a100.json")), now = LstmStepNow();
  CheckRequest request;
  request.budgets = NoGrowth(now);
  const CheckRun run = RunCheck(now, &then, request);
  // What is expected to run may be another kernel by now: steps of their own, no persistent one.
  for (const CheckItem& item : run.items) {
    EXPECT_TRUE(item.passed || item.name == "expected time" || item.name == "kernel launches")
        << item.name << ": " << item.detail;
  }
  EXPECT_THAT(
      run.notes,
      Contains(HasSubstr(
          "the baseline was written by an earlier dlcost, which did not "
          "tell alignment, clips, convolutions, fuses, layout, master_bytes, micro_batches, "
          "planes, precision, quantized, recompute, runtime, runtime_given, selection, "
          "update_form yet")));
}

TEST(EarlierRelease, ReadsWhatAValueWasCalled) {
  std::string json = RenderJson(AlexNetNow());
  const std::size_t at = json.find("\"selection\": \"call\"");
  ASSERT_NE(at, std::string::npos);
  json.replace(at, 19, "\"selection\": \"convolution\"");
  EXPECT_EQ(ReadReportFromText(json, "earlier.json").options.run.selection, Selection::kFirst);
}

// A later release may write fields that this one does not know.
TEST(EarlierRelease, ReadsWhatALaterOneAdds) {
  const std::string json = RenderJson(AlexNetNow());
  std::string later = json;
  later.insert(later.find("\"options\": {") + 12, "\"of_tomorrow\": [1], ");
  EXPECT_EQ(RenderJson(ReadReportFromText(later, "later.json")), json);
  later.replace(later.find("\"cold\""), 6, "\"lukewarm\"");
  try {
    ReadReportFromText(later, "later.json");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "later.json: options: cache: 'lukewarm' is none of its values");
  }
}

}  // namespace
}  // namespace dlcost
