// What else can be asked of a model: formulas, explanations, plans for many devices, profiles,
// pages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "dlcost/dlcost.h"
#include "tests/api/networks.h"

namespace dlcost::api {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::ThrowsMessage;

TEST(Formulas, AreWhatCountingSays) {
  const Model bert = ReadNetwork("bert-base");
  const Formula formula = FindFormula(bert);
  EXPECT_EQ(formula.variables(), (std::vector<std::string>{"batch", "sequence"}));
  for (const std::int64_t sequence : {17, 128, 511}) {
    const std::map<std::string, std::int64_t> sizes = {{"batch", 3}, {"sequence", sequence}};
    const Report report = Count(bert, {}, {.batch = 3, .dims = {{"sequence", sequence}}});
    EXPECT_EQ(formula.At("macs", sizes), report.totals().macs);
    EXPECT_EQ(formula.At("flops", sizes), report.totals().flops);
    EXPECT_EQ(formula.At("bytes.default", sizes), report.totals().bytes());
    EXPECT_EQ(formula.At("parameters", sizes), report.parameters());
  }
  const auto quantities = formula.quantities();
  const auto macs = std::find_if(quantities.begin(), quantities.end(),
                                 [](const FormulaQuantity& q) { return q.key == "macs"; });
  ASSERT_NE(macs, quantities.end());
  EXPECT_THAT(macs->python, HasSubstr("batch * ("));
  EXPECT_THAT(formula.Text(), HasSubstr(macs->text));
  EXPECT_NE(formula.Text(), formula.Text("scope"));
}

TEST(Formulas, FollowTiedSizesAndRefuseOthers) {
  const Model bert = ReadNetwork("bert-base");
  const Formula square = FindFormula(bert, {.tied = {{"sequence", "batch"}}});
  EXPECT_EQ(square.variables(), (std::vector<std::string>{"batch"}));
  EXPECT_EQ(square.At("macs", {{"batch", 7}}),
            Count(bert, {}, {.batch = 7, .dims = {{"sequence", 7}}}).totals().macs);
  EXPECT_THAT(
      [&] {
        square.At("macs", {{"bach", 7}});
      },
      ThrowsMessage<Error>(HasSubstr("did you mean 'batch'")));
  EXPECT_THAT([&] { square.At("macs", {}); }, ThrowsMessage<Error>(HasSubstr("'batch'")));
  EXPECT_THAT(
      [&] {
        square.At("mac", {{"batch", 7}});
      },
      ThrowsMessage<Error>(HasSubstr("did you mean 'macs'")));
}

TEST(Explanations, AreOfTheReportsKernels) {
  const Model model = ReadNetwork("resnet50");
  const Device a100 = FindDevice("a100");
  const Report report = Count(model, a100, {.batch = 8});
  const auto kernels = report.kernels();
  const auto longest = std::max_element(
      kernels.begin(), kernels.end(),
      [](const Kernel& a, const Kernel& b) { return *a.cost.expected_s < *b.cost.expected_s; });
  const Explanation most = Explain(model, a100, "", {.batch = 8});
  EXPECT_EQ(most.kernel_id(), longest->id);
  EXPECT_EQ(most.expected_s(), *longest->cost.expected_s);
  EXPECT_EQ(most.bound_s(), *longest->cost.bound_s);
  EXPECT_EQ(most.bytes(), longest->cost.bytes());
  const auto first = std::find_if(kernels.begin(), kernels.end(),
                                  [](const Kernel& kernel) { return kernel.launches > 0; });
  const Explanation one = Explain(model, a100, first->node, {.batch = 8});
  EXPECT_EQ(one.kernel_id(), first->id);
  EXPECT_EQ(one.expected_s(), *first->cost.expected_s);
  // The first term is the whole time.
  ASSERT_FALSE(one.terms().empty());
  EXPECT_EQ(one.terms().front().unit, "s");
  EXPECT_NEAR(*one.terms().front().value, one.expected_s(), 1e-12);
  EXPECT_THAT([&] { Explain(model, a100, "nope"); }, ThrowsMessage<Error>(HasSubstr("'nope'")));
}

TEST(Sought, IsTheLargestBatchThatFits) {
  const Model model = ReadNetwork("alexnet");
  const Device small = FindDevice("a100", {"memory.size=4GB"});
  const Report report = Count(model, small, {.largest_batch = true});
  const std::int64_t batch = report.dims().at("batch");
  EXPECT_EQ(report.fits(), true);
  EXPECT_EQ(Count(model, small, {.batch = batch + 1}).fits(), false);
  EXPECT_THAT(report.notes().front(), HasSubstr("fits with"));
  EXPECT_THAT([&] { Count(model, {}, {.largest_batch = true}); },
              ThrowsMessage<Error>(HasSubstr("device")));
  EXPECT_THAT([&] { Count(model, small, {.batch = 1, .largest_batch = true}); },
              ThrowsMessage<Error>(HasSubstr("one of them")));
}

TEST(Systems, AreFoundByNameAndListed) {
  const System dgx = FindSystem("dgx-h100");
  EXPECT_EQ(dgx.node_devices, 8);
  EXPECT_EQ(FindDevice(dgx.device_id).id, dgx.device_id);
  const auto all = Systems();
  EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const System& s) { return s.id == dgx.id; }));
  EXPECT_THAT([] { FindSystem("dgx-h10"); }, ThrowsMessage<Error>(HasSubstr("did you mean 'dgx-")));
}

TEST(Jobs, APlanIsAStepOnAllDevices) {
  const Model model = ReadNetwork("resnet50");
  const System dgx = FindSystem("dgx-1");
  const ParallelPlans told = Parallelize(
      model, dgx,
      {.options = {.optimizer = "sgd"}, .plan = "dp=8", .micro_batch = 32, .global_batch = 256});
  ASSERT_EQ(told.plans().size(), 1U);
  const ParallelPlan plan = told.plans().front();
  EXPECT_EQ(plan.devices, 8);
  EXPECT_EQ(plan.micro_batches, 1);
  EXPECT_DOUBLE_EQ(plan.items_per_s, 256 / plan.step_s);
  EXPECT_EQ(plan.fits, true);
  const ParallelPlans all =
      Parallelize(model, dgx, {.options = {.optimizer = "sgd"}, .global_batch = 256, .devices = 8});
  EXPECT_GT(all.plans().size(), 10U);
  EXPECT_THAT(all.plans(), testing::Contains(testing::Field(&ParallelPlan::step_s, plan.step_s)));
  EXPECT_THAT([&] { Parallelize(model, dgx, {.plan = "auto"}); },
              ThrowsMessage<Error>(HasSubstr("--train")));
  EXPECT_THAT([&] { Parallelize(model, dgx, {.bindings = {.batch = 8}}); },
              ThrowsMessage<Error>(HasSubstr("--micro-batch")));
}

TEST(Jobs, ScalingSendsWhatARingSends) {
  const Model model = ReadNetwork("resnet50");
  const Scaling scaling = Scale(model, FindSystem("dgx-a100"),
                                {.devices = {1, 8},
                                 .bindings = {.batch = 32},
                                 .options = {.optimizer = "momentum"},
                                 .spread = 0,
                                 .samples = 1e6,
                                 .price_per_hour = 2});
  const auto points = scaling.points();
  ASSERT_EQ(points.size(), 2U);
  EXPECT_EQ(points[0].efficiency, 1);
  EXPECT_EQ(points[0].sent_bytes, 0);
  // 25,503,912 weights of products (torchvision's 25,557,032 parameters but for 53,120 of batch
  // normalization) and the 26,560 biases that it is folded to, in float32; each device sends
  // 2 (N - 1) / N of them.
  EXPECT_EQ(points[1].sent_bytes, std::int64_t{25503912 + 26560} * 4 * 2 * 7 / 8);
  EXPECT_LT(points[1].efficiency, 1);
  EXPECT_DOUBLE_EQ(points[1].items_per_s, 8 * 32 / points[1].step_s);
  EXPECT_DOUBLE_EQ(*points[1].hours, 1e6 / points[1].items_per_s / 3600);
  EXPECT_DOUBLE_EQ(*points[1].price, *points[1].hours * 8 * 2);
  EXPECT_THAT(scaling.Perfetto(), HasSubstr("traceEvents"));
  EXPECT_THAT([&] { Scale(model, FindSystem("dgx-a100"), {.devices = {8}}); },
              ThrowsMessage<Error>(HasSubstr("--train")));
}

TEST(Jobs, OneDeviceNeedsWhatAReportSays) {
  const Model model = ReadNetwork("bert-base");
  const System dgx = FindSystem("dgx-a100-80gb");
  const Options trains = {.optimizer = "adamw"};
  const ParallelPlans plans = Parallelize(model, dgx,
                                          {.bindings = {.dims = {{"sequence", 128}}},
                                           .options = trains,
                                           .plan = "dp=1",
                                           .micro_batch = 8});
  const Report report =
      Count(model, FindDevice(dgx.device_id), {.batch = 8, .dims = {{"sequence", 128}}}, trains);
  EXPECT_EQ(plans.plans().front().memory_bytes,
            report.weight_bytes() + report.peak_activation_bytes());
}

// The job gives each device its items: a batch that is bound elsewhere would not be counted.
TEST(Jobs, TheBatchIsTheJobsOwn) {
  const Model model = ReadNetwork("bert-base");
  const System dgx = FindSystem("dgx-a100");
  const Bindings bindings = {.dims = {{"batch", 8}, {"sequence", 16}}};
  const Options trains = {.optimizer = "sgd"};
  EXPECT_THAT(
      [&] { Scale(model, dgx, {.devices = {1}, .bindings = bindings, .options = trains}); },
      ThrowsMessage<Error>(HasSubstr("'batch' is the batch of a device, and bound to 8: say "
                                     "--batch 8 instead")));
  EXPECT_THAT(
      [&] { Parallelize(model, dgx, {.bindings = bindings, .options = trains, .plan = "dp=2"}); },
      ThrowsMessage<Error>(HasSubstr("say --micro-batch 8 instead")));
}

TEST(Jobs, CollectivesFollowTheArithmeticOfARing) {
  const auto runs =
      RunCollectives({.bandwidth_bytes_per_s = 100e9, .devices = {4}, .bytes = {93930496}}).runs();
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].ring_bytes, 140895744);  // 2 (4 - 1) / 4 of the buffer
  EXPECT_DOUBLE_EQ(runs[0].time_s, 140895744 / 100e9);
  const Collectives on = RunCollectives({.op = "all_gather",
                                         .system = FindSystem("dgx-a100"),
                                         .devices = {2, 8},
                                         .bytes = {1024, 3000000}});
  ASSERT_EQ(on.runs().size(), 4U);
  EXPECT_EQ(on.runs()[3].devices, 8);
  EXPECT_EQ(on.runs()[3].bytes, 3000000);
  EXPECT_DOUBLE_EQ(on.runs()[3].algorithm_bandwidth_bytes_per_s, 3000000 / on.runs()[3].time_s);
  EXPECT_THAT([] { RunCollectives({}); }, ThrowsMessage<Error>(HasSubstr("on what?")));
  EXPECT_THAT([] { RunCollectives({.op = "allreduce"}); },
              ThrowsMessage<Error>(HasSubstr("all_reduce")));
  EXPECT_THAT([] { RunCollectives({.bandwidth_bytes_per_s = 1e9, .bytes = {-1}}); },
              ThrowsMessage<Error>(HasSubstr("--bytes")));
}

TEST(Pages, ShowOneReportOrSeveral) {
  const Model model = ReadNetwork("alexnet");
  const Report a100 = Count(model, FindDevice("a100"));
  const Report h100 = Count(model, FindDevice("h100"));
  EXPECT_THAT(a100.Html("my title"), HasSubstr("my title"));
  const std::string both = Compare(a100, h100).Html();
  EXPECT_EQ(both, Page({a100, h100}));
  EXPECT_THAT(both, HasSubstr("h100"));
  EXPECT_THAT(a100.Html(), Not(HasSubstr("h100-sxm5")));
  EXPECT_THAT([] { Page({}); }, ThrowsMessage<Error>(HasSubstr("no report")));
  // A report that was read finds its device again.
  EXPECT_THAT(Report::FromJson(a100.Json(), "a.json").Html(), HasSubstr("A100"));
}

std::string Fixture(const std::string& name) {
  return std::string(DLCOST_SOURCE_DIR) + "/tests/profiles/fixtures/" + name;
}

TEST(Profiles, TellWhatCountersTellAndNoMore) {
  const Measured measured =
      ReadMeasured({.files = {Fixture("ncu_details.csv"), Fixture("ncu_roofline.csv")},
                    .device = FindDevice("a100")});
  const auto profiles = measured.profiles();
  ASSERT_EQ(profiles.size(), 2U);
  const Profile& details = profiles.front();
  EXPECT_EQ(details.format, "ncu");
  EXPECT_EQ(details.total.launches, 2);
  // 11,075,584 additions and as many multiplications in the file, and products that it does not
  // count: a lower bound, of which there is no rate.
  EXPECT_EQ(details.total.flops, 2.0 * 11075584);
  EXPECT_FALSE(details.total.flops_whole);
  EXPECT_EQ(details.total.flops_per_s, std::nullopt);
  EXPECT_EQ(details.total.bytes_per_s.has_value(), true);
  std::int64_t launches = 0;
  for (const MeasuredGroup& group : profiles[1].by_name) launches += group.launches;
  EXPECT_EQ(launches, profiles[1].total.launches);
  EXPECT_THAT(measured.Text(), HasSubstr("ncu_roofline.csv"));
  EXPECT_THAT(measured.Html(), HasSubstr("dlcost: ncu_details.csv"));
  EXPECT_THAT([] { ReadMeasured({}); }, ThrowsMessage<Error>(HasSubstr("nothing measured")));
  EXPECT_THAT([] { ReadMeasured({.files = {Fixture("plain.csv")}, .dtype = "fp17"}); },
              ThrowsMessage<Error>(HasSubstr("fp17")));
}

TEST(Pages, OfAReportShowWhatWasMeasuredOfEachKernel) {
  const Report report = Count(ReadNetwork("alexnet"), FindDevice("p4"), {.batch = 1});
  const Comparison comparison =
      Compare(report, {.measured = {Fixture("alexnet_p4_nvprof_metrics.csv")}});
  // FLOPs that the counters give the first convolution.
  EXPECT_THAT(comparison.ReportHtml(), HasSubstr("143717440.0"));
  EXPECT_THAT(report.Html(), Not(HasSubstr("143717440.0")));
  // A roofline of what was measured wants bytes and times, which these counters do not tell.
  EXPECT_THAT(comparison.Html(), HasSubstr("the roofline has no dots"));
  EXPECT_THAT(comparison.Html(), HasSubstr("dlcost: alexnet.onnx, measured"));
}

TEST(Pages, PicturesAreSvg) {
  const Report report = Count(ReadNetwork("alexnet"), FindDevice("a100"));
  for (const char* picture : {"roofline", "memory", "icicle"}) {
    EXPECT_THAT(report.Svg(picture), testing::StartsWith("<svg")) << picture;
    EXPECT_NE(report.Svg(picture), report.Svg(picture, true)) << picture;
  }
  EXPECT_THAT([&] { report.Svg("rofline"); },
              ThrowsMessage<Error>(HasSubstr("did you mean 'roofline'")));
}

}  // namespace
}  // namespace dlcost::api
