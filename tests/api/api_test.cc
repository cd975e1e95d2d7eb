// The public interface: the same answers as the rooms behind it, from any number of threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <thread>

#include "dlcost/dlcost.h"
#include "estimator/hardware/database.h"
#include "estimator/infer/infer.h"
#include "estimator/onnx/reader.h"
#include "estimator/report/render.h"
#include "estimator/runtime/runtime.h"
#include "tests/api/networks.h"

namespace dlcost::api {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

std::string Bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(Count, SaysWhatTheRoomsSay) {
  const std::string path = PathOf("resnet50");
  const Report report = Count(Model::Read(path), FindDevice("A100"), {.batch = 8});
  InferOptions infer;
  infer.bindings.batch = 8;
  ReportOptions options;
  Assume(dlcost::FindRuntime(kDefaultRuntime, {std::string(kEmbeddedDatabase)}), false, options);
  const dlcost::Report expected =
      BuildReport(Infer(ReadModel(path), infer),
                  DeviceDatabase({std::string(kEmbeddedDatabase)}).Find("a100"), options);
  EXPECT_EQ(report.Json(), RenderJson(expected));
  EXPECT_EQ(report.totals().macs, expected.totals.macs.value());
  EXPECT_EQ(report.kernels().size(), expected.kernels.size());
  EXPECT_EQ(report.nodes().size(), expected.nodes.size());
  EXPECT_EQ(report.device_id(), "a100-sxm4-80gb");
  EXPECT_EQ(report.fits(), true);
  EXPECT_TRUE(report.exact());
  // Totals are the sums of rows.
  std::int64_t by_op = 0, by_kernel = 0;
  for (const Group& row : report.by_op()) by_op += row.cost.macs;
  for (const Kernel& kernel : report.kernels()) by_kernel += kernel.cost.macs;
  EXPECT_EQ(by_op, report.totals().macs);
  EXPECT_EQ(by_kernel, report.totals().macs);
}

TEST(Count, ItsPageHasTheStepsOfEveryKernelAndWhatIsAlive) {
  const std::string page = Count(Model::Read(PathOf("alexnet")), FindDevice("A100")).Html();
  EXPECT_THAT(page, HasSubstr("\"title\":\"dlcost: alexnet.onnx on a100-sxm4-80gb\""));
  EXPECT_THAT(page, HasSubstr("\"steps\":[[[["));  // kernels, their terms
  EXPECT_THAT(page, HasSubstr("\"live\":[["));
}

TEST(Count, TimesAreAbsentWithoutADevice) {
  const Report report = Count(Model::Read(PathOf("alexnet")));
  EXPECT_EQ(report.totals().macs, 714188480);  // tests/install: half of the published FLOPs
  EXPECT_EQ(report.totals().bound_s, std::nullopt);
  EXPECT_EQ(report.fits(), std::nullopt);
  EXPECT_EQ(report.device_id(), "");
  for (const Kernel& kernel : report.kernels()) EXPECT_EQ(kernel.cost.expected_s, std::nullopt);
}

TEST(Count, ReadsBytesAndBindsSizes) {
  const Model model = Model::FromBytes(Bytes(PathOf("bert-base")), "bert");
  EXPECT_EQ(model.path(), "bert");
  EXPECT_EQ(model.open_dims(), (std::vector<std::string>{"batch", "sequence"}));
  EXPECT_THAT([&] { Count(model); }, ThrowsMessage<Error>(HasSubstr("sequence")));
  const Report report = Count(model, {}, {.batch = 2, .dims = {{"sequence", 32}}});
  EXPECT_EQ(report.dims().at("sequence"), 32);
  EXPECT_EQ(report.dims().at("batch"), 2);
}

TEST(Report, IsReadFromWhatItWrites) {
  const Report report = Count(Model::Read(PathOf("alexnet")), FindDevice("a100"));
  const Report read = Report::FromJson(report.Json(), "alexnet.json");
  EXPECT_EQ(read.totals().expected_s, report.totals().expected_s);
  EXPECT_EQ(read.by_op().size(), report.by_op().size());
  EXPECT_EQ(read.by_scope().size(), report.by_scope().size());
  for (const Kernel& kernel : read.kernels()) EXPECT_GT(kernel.launches, 0);  // others are not told
  EXPECT_THAT([] { Report::FromJson("{}", "it.json"); },
              ThrowsMessage<Error>(HasSubstr("it.json")));
}

TEST(Count, WrongInputIsOneLine) {
  const Model model = Model::Read(PathOf("alexnet"));
  EXPECT_THAT([] { Model::Read("/nonexistent.onnx"); }, ThrowsMessage<Error>(HasSubstr("No such")));
  EXPECT_THAT([] { Model::FromBytes("text", "it"); }, ThrowsMessage<Error>(HasSubstr("it: ")));
  EXPECT_THAT([] { FindDevice("h10o"); }, ThrowsMessage<Error>(HasSubstr("did you mean 'h100")));
  EXPECT_THAT([&] { Count(model, {}, {}, {.fusion = "idael"}); },
              ThrowsMessage<Error>(HasSubstr("did you mean 'ideal'")));
  EXPECT_THAT([&] { Count(model, {}, {.batch = -1}); },
              ThrowsMessage<Error>(HasSubstr("negative")));
  EXPECT_THAT([&] { Count(model).Text("colour"); }, ThrowsMessage<Error>(HasSubstr("colour")));
  EXPECT_THAT([&] { Count(model).Text("phase"); }, ThrowsMessage<Error>(HasSubstr("training")));
}

TEST(Count, OneModelServesEightThreads) {
  const Model model = Model::Read(PathOf("bert-base"));
  const Device device = FindDevice("h100");
  const auto count = [&](std::int64_t sequence) {
    return Count(model, device, {.dims = {{"sequence", sequence}}}).Json();
  };
  std::vector<std::string> together(8);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < together.size(); ++i) {
    threads.emplace_back([&, i] { together[i] = count(16 * (1 + static_cast<int>(i) % 4)); });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < together.size(); ++i) {
    EXPECT_EQ(together[i], count(16 * (1 + static_cast<int>(i) % 4)));
  }
}

TEST(Compare, TellsWhatPrecisionChanges) {
  const Model model = Model::Read(PathOf("alexnet"));
  const Report before = Count(model), after = Count(model, {}, {}, {.dtype = "f16"});
  const Difference difference = Compare(before, after);
  EXPECT_THAT(difference.Json(), HasSubstr("dlcost.diff/1"));
  EXPECT_LT(after.totals().bytes(), before.totals().bytes());
  std::int64_t bytes = 0;
  for (const Change& change : difference.changes()) bytes += change.bytes;
  EXPECT_LT(bytes, 0);
  EXPECT_EQ(Compare(before, before).changes().size(), 0u);
  EXPECT_EQ(Compare(before, before).same() > 0, true);
}

TEST(Check, HoldsLimits) {
  const Report report = Count(Model::Read(PathOf("alexnet")), FindDevice("t4"));
  EXPECT_TRUE(Check(report, {}, {.max = {"macs=1G"}}).passed());
  const Verdict failed = Check(report, {}, {.max = {"macs=1M"}});
  EXPECT_FALSE(failed.passed());
  ASSERT_EQ(failed.requirements().size(), 1u);
  EXPECT_EQ(failed.requirements()[0].value, 714188480.0);
  EXPECT_EQ(failed.requirements()[0].allowed, 1e6);
  EXPECT_TRUE(Check(report, report).passed());
  EXPECT_TRUE(Check(report, {}, {.fits_on = {"t4"}}).passed());
  EXPECT_THROW(Check(report, {}), Error);
  EXPECT_THROW(Check(report, {}, {.max = {"macs"}}), Error);
}

TEST(RunSweep, PointsAreReports) {
  const Model model = Model::Read(PathOf("alexnet"));
  const Sweep sweep = RunSweep(model, {.axes = {{.name = "batch", .sizes = {1, 4}, .batch = true}},
                                       .devices = {FindDevice("t4")}});
  const std::vector<SweepPoint> points = sweep.points();
  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points[1].sizes, std::vector<std::int64_t>{4});
  const Report report = Count(model, FindDevice("t4"), {.batch = 4});
  EXPECT_EQ(points[1].macs, report.totals().macs);
  EXPECT_EQ(points[1].bytes, report.totals().bytes());
  EXPECT_NEAR(*points[1].expected_s, *report.totals().expected_s, 1e-9);
  EXPECT_THAT(sweep.Json(), HasSubstr("dlcost.sweep/1"));
  EXPECT_THROW(RunSweep(model, {.axes = {{.name = "batch", .sizes = {}}}}), Error);
}

TEST(Compare, JoinsMeasurements) {
  const Report report = Count(Model::Read(PathOf("alexnet")), FindDevice("p4"));
  EXPECT_THROW(Compare(report, Measurements{}), Error);
  EXPECT_THROW(Compare(report, Measurements{.measured = {"/nonexistent.csv"}}), Error);
}

TEST(TrainingStep, IsAModel) {
  const Model model = Model::Read(PathOf("alexnet"));
  const Options options{.optimizer = "sgd"};
  const Model step = Model::FromBytes(TrainingStep(model, {}, options), "step");
  EXPECT_GT(step.nodes(), model.nodes());
  const Report report = Count(model, {}, {}, options);
  EXPECT_FALSE(report.by_phase().empty());
  EXPECT_EQ(Count(step).totals().macs, report.totals().macs);
}

TEST(Options, NameTheRuntime) {
  const Model model = Model::Read(PathOf("resnet50"));
  const Device a100 = FindDevice("a100");
  const Report compiled = Count(model, a100),
               eager = Count(model, a100, {}, {.runtime = "pytorch"});
  EXPECT_EQ(eager.totals().macs, compiled.totals().macs);
  EXPECT_GT(eager.totals().bytes(), compiled.totals().bytes());  // nothing is fused
  EXPECT_GT(eager.kernels().size(), compiled.kernels().size());
  EXPECT_THAT([&] { Count(model, a100, {}, {.runtime = "tensort"}); },
              ThrowsMessage<Error>(HasSubstr("did you mean 'tensorrt'?")));
  const Device other = FindDevice("mi300x");
  EXPECT_THAT([&] { Count(model, other, {}, {.runtime = "tensorrt"}); },
              ThrowsMessage<Error>(HasSubstr("runs on devices of")));
  EXPECT_THAT([&] { RunSweep(model, {.devices = {other}, .options = {.runtime = "tensorrt"}}); },
              ThrowsMessage<Error>(HasSubstr("runs on devices of")));
}

TEST(Options, MixPrecisionsAndRecompute) {
  const Model model = Model::Read(PathOf("alexnet"));
  const auto step = [&](const Options& options) { return Count(model, {}, {.batch = 8}, options); };
  const Report plain = step({.optimizer = "sgd"});
  EXPECT_LT(step({.optimizer = "sgd", .precision = "bf16"}).weight_bytes(), plain.weight_bytes());
  EXPECT_GT(step({.optimizer = "sgd", .recompute = "full"}).totals().macs, plain.totals().macs);
  EXPECT_THROW(step({.recompute = "full"}), Error);  // of a step alone
  EXPECT_THROW(step({.dtype = "f16", .precision = "bf16"}), Error);
}

TEST(RunSweep, TakesTrainingStepsAndTypes) {
  const Model model = Model::Read(PathOf("alexnet"));
  const std::vector<Axis> axes = {{.name = "batch", .sizes = {2}, .batch = true}};
  const Options step{.optimizer = "sgd"}, half{.dtype = "float16"};
  EXPECT_EQ(RunSweep(model, {.axes = axes, .options = step}).points().at(0).macs,
            Count(model, {}, {.batch = 2}, step).totals().macs);
  EXPECT_EQ(RunSweep(model, {.axes = axes, .options = half}).points().at(0).bytes,
            Count(model, {}, {.batch = 2}, half).totals().bytes());
}

TEST(Devices, AreThoseOfTheDatabase) {
  const std::vector<Device> devices = Devices();
  EXPECT_GT(devices.size(), 80u);
  const Device a100 = FindDevice("a100", {"memory.bandwidth=4TB/s"});
  EXPECT_EQ(a100.memory_bytes_per_s, 4e12);
  EXPECT_EQ(FindDevice("a100").memory_bytes, std::int64_t{80} << 30);
  EXPECT_THAT(a100.Json(), HasSubstr("dlcost.device/1"));
}

}  // namespace
}  // namespace dlcost::api
