// Data parallel steps, ZeRO, scaling as published, pipelines against their closed forms.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "estimator/collective/collective.h"
#include "estimator/core/error.h"
#include "estimator/parallel/hybrid.h"
#include "estimator/parallel/pipeline.h"
#include "estimator/parallel/plan_search.h"
#include "estimator/parallel/scaling.h"
#include "estimator/parallel/sharded_units.h"
#include "estimator/parallel/slowest.h"
#include "estimator/system/system_database.h"

namespace dlcost {
namespace {

System Find(const std::string& name) {
  return SystemDatabase({std::string(DLCOST_SOURCE_DIR) + "/hw_specs"}).Find(name);
}

// `layers` equal layers: a third of the time forward, two thirds backward.
StepProfile Layers(int layers, double seconds, std::int64_t gradient_bytes) {
  StepProfile profile;
  profile.weights = profile.gradients = profile.sent_gradients = Bytes(gradient_bytes);
  profile.states = Bytes(2 * gradient_bytes);
  profile.activations = Bytes(1000);
  const Bytes part(gradient_bytes / layers);
  for (int i = 0; i < layers; ++i) {
    profile.kernels.push_back({.name = "layer" + std::to_string(i),
                               .time = Seconds(seconds / 3 / layers),
                               .weights = part,
                               .passed = Bytes(1 << 20)});
  }
  for (int i = layers; i-- > 0;) {
    profile.kernels.push_back({.name = "layer" + std::to_string(i) + "/grad/Product",
                               .phase = Phase::kBackwardData,
                               .time = Seconds(seconds * 2 / 3 / layers),
                               .gradients = part,
                               .trained = part});
  }
  profile.kernels.push_back({.name = "update", .phase = Phase::kOptimizer, .time = Seconds()});
  return profile;
}

constexpr std::int64_t kFaceNet = 23482624 * 4;  // bytes of gradients

TEST(DataParallel, OnOneDeviceIsTheStepAlone) {
  const ParallelStep step = RunDataParallel(Layers(10, 0.46, kFaceNet), Find("dgx-1"), {});
  EXPECT_NEAR(step.time.value(), 0.46, 1e-12);
  EXPECT_EQ(step.collectives, 0);
  EXPECT_EQ(step.exposed, Seconds());
}

TEST(DataParallel, ExposesTheLastBucketOnly) {
  const StepProfile profile = Layers(8, 0.4, 8 * (64 << 20));
  const System dgx = Find("dgx-a100");
  const ParallelStep overlapped = RunDataParallel(profile, dgx, {.devices = 8});
  DataParallelPlan serial{.devices = 8};
  serial.overlap = false;
  const ParallelStep after = RunDataParallel(profile, dgx, serial);
  EXPECT_EQ(overlapped.collectives, 8);
  EXPECT_EQ(after.collectives, 1);
  EXPECT_NEAR(after.exposed.value(), after.communication.value(), 1e-12);
  EXPECT_NEAR(overlapped.exposed.value(), overlapped.communication.value() / 8, 1e-9);
  EXPECT_NEAR((overlapped.time - overlapped.exposed).value(), 0.4, 1e-9);
  // A ring's 2 (N - 1) / N of 512 MiB, however it is cut.
  EXPECT_EQ(after.sent.value(), 8LL * (64 << 20) * 7 / 4);
  EXPECT_EQ(overlapped.sent, after.sent);
}

// Of an A100's 108 processors collectives hold 24: what runs beside them takes 24 / 108 of the time
// longer for which it does.
TEST(DataParallel, SharesProcessorsWithCollectives) {
  StepProfile profile = Layers(8, 0.4, 8 * (64 << 20));
  const System dgx = Find("dgx-a100");
  const ParallelStep alone = RunDataParallel(profile, dgx, {.devices = 8});
  profile.processors = 108;
  const ParallelStep shared = RunDataParallel(profile, dgx, {.devices = 8});
  const Seconds hidden = alone.communication - alone.exposed;
  EXPECT_EQ(alone.slowed, Seconds());
  EXPECT_NEAR(shared.slowed / hidden, 24.0 / 108, 1e-9);
  EXPECT_NEAR((shared.time - alone.time) / shared.slowed, 1, 1e-9);
}

TEST(DataParallel, SharesOutWhatZeroSays) {
  const StepProfile profile = Layers(4, 0.1, 4000);
  const std::int64_t bytes[] = {1000 + 4000 * 4, 1000 + 4000 * 2 + 2000, 1000 + 4000 + 1000 + 2000,
                                1000 + 1000 + 1000 + 2000 + 4000};  // one bucket has all, gathered
  for (int zero = 0; zero <= 3; ++zero) {
    EXPECT_EQ(MemoryOf(profile, {.devices = 4, .zero = zero}).value(), bytes[zero]) << zero;
  }
  const System dgx = Find("dgx-a100");
  const StepProfile large = Layers(4, 0.1, 400 << 20);
  const auto sent = [&](int zero) {
    return RunDataParallel(large, dgx, {.devices = 4, .zero = zero}).sent.value();
  };
  // ZeRO 1 and 2 send as much as an all-reduce, ZeRO 3 half as much again (Rajbhandari 2020).
  EXPECT_EQ(sent(1), sent(0));
  EXPECT_EQ(sent(2), sent(0));
  EXPECT_EQ(sent(3) * 2, sent(0) * 3);
}

// Four layers, which repeat, between an embedding and its gradient.
StepProfile Modules() {
  StepProfile profile = Layers(4, 0.4, 4000);
  for (std::size_t k = 0; k < 8; ++k) {
    profile.kernels[k].module = "h." + std::to_string(k < 4 ? k : 7 - k);
    profile.kernels[k].live = Bytes(k == 4 ? 900 : 100);
  }
  const auto at = [&](std::size_t k) {
    return profile.kernels.begin() + static_cast<std::ptrdiff_t>(k);
  };
  profile.kernels.insert(
      at(8),
      {.name = "embed/grad/Gather", .phase = Phase::kBackwardWeights, .gradients = Bytes(500)});
  profile.kernels.insert(at(0), {.name = "embed", .weights = Bytes(500)});
  return profile;
}

// While layer 2 goes back there are the embedding (500), layers 2 and 1 (2000), the gradients of
// layer 2 and those of layer 3, which are scattered meanwhile (2000), and what lives (100).
TEST(DataParallel, GathersUnitsAhead) {
  const StepProfile profile = Modules();
  const DataParallelPlan plan{.devices = 4, .zero = 3};
  EXPECT_EQ(PassesWithGathered(profile, plan), Bytes(500 + 2000 + 2000 + 100));
  EXPECT_EQ(MemoryOf(profile, plan) - LastingOf(profile, plan, 1), Bytes(4600));
  // What is fused into a layer's kernel is none of its own.
  StepProfile fused = profile;
  fused.kernels[1].weights += Bytes(300);
  fused.kernels[1].outer_weights = Bytes(300);
  EXPECT_EQ(PassesWithGathered(fused, plan), Bytes(4600 + 300));
  // Nobody shares with a single device.
  EXPECT_EQ(MemoryOf(profile, {.zero = 3}) - LastingOf(profile, {.zero = 3}, 1), Bytes(1000));
  // The embedding is gathered once, layers before both of their passes, and each is scattered.
  const ParallelStep step = RunDataParallel(profile, Find("dgx-a100"), plan);
  EXPECT_EQ(step.collectives, (1 + 8) + (4 + 1));
  EXPECT_EQ(step.sent, Bytes((500 + 8000 + 4500) * 3 / 4));
}

// FaceNet on P100: 32,000 iterations in 14,720 s on 1, 19,000 in 9,327.878 s on 2, 8,250 in
// 3,753.75 s on 4 devices.
// Copies of gradients for the update are as large as the part that a device updates; sums over
// micro-batches are such copies.
TEST(DataParallel, CopiesWhatItUpdates) {
  StepProfile profile = Layers(4, 0.4, 1000);
  profile.activations = Bytes(1000);
  profile.updating = Bytes(80000);
  profile.gradient_sums = profile.gradients + profile.gradients;
  const auto more = [&](const DataParallelPlan& plan, std::int64_t micro_batches) {
    return (MemoryOf(profile, plan, micro_batches) - LastingOf(profile, plan, micro_batches))
        .value();
  };
  EXPECT_EQ(more({.devices = 8}, 1), 80000);
  EXPECT_EQ(more({.devices = 8, .zero = 1}, 1), 10000);
  EXPECT_EQ(more({.devices = 8}, 2), 80000 - profile.gradient_sums.value());
  profile.updating = Bytes(500);
  EXPECT_EQ(more({.devices = 8}, 1), 1000);
}

TEST(Scaling, OfFaceNetIsAsPublished) {
  const double seconds[] = {14720.0 / 32000, 9327.878 / 19000, 3753.75 / 8250};
  EXPECT_NEAR(seconds[0], 0.460, 5e-4);
  EXPECT_NEAR(seconds[1], 0.4909, 5e-5);
  EXPECT_NEAR(seconds[2], 0.455, 5e-4);
  Scaling measured;
  Scaling expected;
  const System dgx = Find("dgx-1-p100");
  const StepProfile profile = Layers(20, seconds[0], kFaceNet);
  for (int i = 0; i < 3; ++i) {
    ScalePoint point{1 << i, 64};
    point.step.time = Seconds(seconds[i]);
    measured.points.push_back(point);
    point.step = RunDataParallel(profile, dgx, {.devices = 1 << i});
    expected.points.push_back(point);
    EXPECT_NEAR(point.step.time.value() / seconds[i], 1, 0.07) << point.devices;
  }
  SetEfficiencies(measured, measured.points[0]);
  SetEfficiencies(expected, expected.points[0]);
  EXPECT_NEAR(measured.points[1].efficiency, 0.937, 1e-3);
  EXPECT_NEAR(measured.points[2].efficiency, 1.011, 1e-3);
  EXPECT_GT(expected.points[2].efficiency, 0.95);
  EXPECT_EQ(PaysUpTo(expected, expected.points[0]), 4);
}

TEST(Scaling, StopsPayingWhereAnAddedDeviceBringsLessThanHalf) {
  Scaling scaling;
  for (const auto& [devices, seconds] : {std::pair{1, 1.0}, {2, 1.05}, {4, 1.3}, {8, 2.9}}) {
    ScalePoint point{devices, 10};
    point.step.time = Seconds(seconds);
    scaling.points.push_back(point);
  }
  EXPECT_EQ(PaysUpTo(scaling, scaling.points[0]), 4);
}

TEST(Pipeline, HasTheBubbleOfTheClosedForm) {
  for (const int p : {1, 2, 4, 8}) {
    for (const int m : {1, 2, 8, 32}) {
      const std::vector<PipelineChunk> chunks(static_cast<std::size_t>(p),
                                              {Seconds(1), Seconds(2), Seconds()});
      for (const auto schedule : {PipelineSchedule::kGPipe, PipelineSchedule::kOneFOneB}) {
        const Timeline timeline = PipelineTimeline(chunks, p, m, schedule);
        EXPECT_EQ(timeline.Span(), Seconds(3.0 * (m + p - 1))) << p << " " << m;
        EXPECT_NEAR(BubbleOf(timeline), (p - 1.0) / (m + p - 1), 1e-15) << p << " " << m;
      }
    }
  }
}

// Qi et al., "Zero Bubble Pipeline Parallelism", 2023, table 2: (p - 1)(F + B - W) of ZB-H1.
TEST(Pipeline, FillsGapsWithGradientsOfWeights) {
  for (const int p : {1, 2, 4, 8}) {
    for (const int m : {8, 32}) {
      const std::vector<PipelineChunk> chunks(static_cast<std::size_t>(p),
                                              {Seconds(1), Seconds(2), Seconds(), Seconds(1)});
      const Timeline timeline = PipelineTimeline(chunks, p, m, PipelineSchedule::kZeroBubble);
      EXPECT_EQ(timeline.Span(), Seconds(3.0 * m + (p - 1))) << p << " " << m;
      const Timeline plain = PipelineTimeline(chunks, p, m, PipelineSchedule::kOneFOneB);
      EXPECT_EQ(plain.Span(), Seconds(3.0 * (m + p - 1))) << p << " " << m;
    }
  }
}

TEST(Pipeline, InterleavedDividesTheBubble) {
  for (const int p : {2, 4}) {
    for (const int v : {2, 3}) {
      const int m = 4 * p;
      const std::vector<PipelineChunk> chunks(static_cast<std::size_t>(p * v),
                                              {Seconds(1), Seconds(2), Seconds()});
      const Timeline timeline = PipelineTimeline(chunks, p, m, PipelineSchedule::kInterleaved);
      EXPECT_NEAR(BubbleOf(timeline), (p - 1.0) / (v * m + p - 1), 1e-15) << p << " " << v;
    }
  }
  const std::vector<PipelineChunk> four(4, {Seconds(1), Seconds(2), Seconds()});
  EXPECT_THAT([&] { PipelineTimeline(four, 2, 3, PipelineSchedule::kInterleaved); },
              ::testing::ThrowsMessage<Error>(::testing::HasSubstr("multiple of 2 micro-batches")));
}

TEST(Pipeline, CutsEqualLayersEvenly) {
  const StepProfile profile = Layers(12, 1.2, 1200);
  const std::vector<PipelineStage> stages = BalancedStages(profile, 4);
  ASSERT_EQ(stages.size(), 4u);
  Bytes weights;
  for (const PipelineStage& stage : stages) {
    EXPECT_NEAR((stage.forward + stage.backward).value(), 0.3, 1e-9);
    EXPECT_EQ(stage.gradients.value(), 300);
    weights += stage.weights;
  }
  EXPECT_EQ(weights, profile.weights);
  EXPECT_EQ(stages[0].passed.value(), 1 << 20);
  EXPECT_EQ(stages[3].passed, Bytes());
  EXPECT_THAT(
      [&] { BalancedStages(profile, 13); },
      ::testing::ThrowsMessage<Error>("13 stages: the model has 12 kernels to cut between"));
}

TEST(Pipeline, CutsWhereLittlePasses) {
  StepProfile profile = Layers(40, 4, 4000);
  for (StepKernel& kernel : profile.kernels) kernel.passed = Bytes(1 << 20);
  profile.kernels[20].passed = Bytes(1 << 10);  // one layer behind the middle
  const std::vector<PipelineStage> stages = BalancedStages(profile, 2);
  EXPECT_EQ(stages[0].last, 20u);
  EXPECT_EQ(stages[0].passed.value(), 1 << 10);
}

// As frameworks lay out layers, whatever comes before the first.
TEST(Pipeline, StagesAreOfEquallyManyModules) {
  StepProfile profile = Layers(13, 1.3, 1300);
  profile.kernels[0].time = Seconds(1);  // an embedding
  for (std::size_t k = 1; k <= 12; ++k) {
    profile.kernels[k].module = "h/" + std::to_string((k - 1) / 3);
  }
  EXPECT_EQ(BalancedStages(profile, 2)[0].last, 6u);
  const std::vector<PipelineStage> four = BalancedStages(profile, 4);
  EXPECT_EQ(four[0].last, 3u);
  EXPECT_EQ(four[2].last, 9u);
  // Four modules do not divide among three stages: the slowest is as fast as it can be.
  EXPECT_EQ(BalancedStages(profile, 3)[0].last, 0u);
}

TEST(Hybrid, OfOneStageIsDataParallel) {
  const StepProfile profile = Layers(8, 0.1, 64 << 20);
  const System dgx = Find("dgx-a100");
  HybridPlan plan;
  plan.data = 8;
  plan.micro_batch = 2;
  plan.global_batch = 16;
  EXPECT_EQ(RunHybrid(profile, dgx, plan).time, RunDataParallel(profile, dgx, {.devices = 8}).time);
  // Further micro-batches send nothing.
  plan.global_batch = 64;
  EXPECT_NEAR(RunHybrid(profile, dgx, plan).time.value(),
              RunDataParallel(profile, dgx, {.devices = 8}).time.value() + 3 * 0.1, 1e-9);
}

// A gather of 1 ms before a product of 3 ms, and the way back of one device of four.
StepProfile Exchanging(CollectiveOp op) {
  StepProfile profile;
  profile.weights = profile.gradients = profile.sent_gradients = Bytes(4);
  profile.exchanges = true;
  profile.processors = 100;
  const Exchange exchange = {.op = op, .bytes = Bytes(1 << 20), .devices = 4, .channels = 20};
  profile.kernels = {
      {.name = "exchange", .time = Seconds(1e-3), .exchange = exchange},
      {.name = "norm", .time = Seconds(1e-3)},
      {.name = "product", .time = Seconds(3e-3), .product = true},
      {.name = "update", .phase = Phase::kOptimizer, .time = Seconds(1e-3), .gradients = Bytes(4)},
  };
  return profile;
}

TEST(ExchangeOverlap, HidesAllButOnePieceBesideTheProduct) {
  const StepProfile gathered = Exchanging(CollectiveOp::kAllGather);
  const StepProfile run = WithOverlap(gathered, {.tensor = true}, {.tensor = 4});
  EXPECT_NEAR(run.kernels[0].time.value(), 0.25e-3, 1e-12);
  // A fifth of the processors for the 0.75 ms beside it.
  EXPECT_NEAR(run.kernels[2].time.value(), 3e-3 + 0.75e-3 / 5, 1e-12);
  EXPECT_EQ(WithOverlap(gathered, {.context = true}, {.tensor = 4}).Time(), gathered.Time());
  EXPECT_EQ(WithOverlap(gathered, {.context = true}, {.context = 4}).Time(), run.Time());
  // Sums follow the product that makes them: none does here.
  const StepProfile summed = Exchanging(CollectiveOp::kReduceScatter);
  EXPECT_EQ(WithOverlap(summed, {.tensor = true}, {.tensor = 4}).Time(), summed.Time());
}

TEST(ExchangeOverlap, OfExpertsHidesBesideAnotherMicroBatch) {
  const StepProfile profile = Exchanging(CollectiveOp::kAllToAll);
  const auto exchanged = [&](std::int64_t micro_batches) {
    return WithOverlap(profile, {.experts = true}, {.micro_batches = micro_batches})
        .kernels[0]
        .time.value();
  };
  EXPECT_EQ(exchanged(1), 1e-3);
  // Of four micro-batches one waits, and the others keep a fifth of the processors.
  EXPECT_NEAR(exchanged(4), 1e-3 * (1 + 3 * 0.2) / 4, 1e-12);
}

// Eight equal buckets of parameters before eight equal layers: the first is waited for.
TEST(ExchangeOverlap, GathersParametersBeforeTheyAreRead) {
  const StepProfile profile = Layers(8, 0.4, 8 * (64 << 20));
  const System dgx = Find("dgx-a100");
  const ParallelStep behind = RunDataParallel(profile, dgx, {.devices = 8, .zero = 1});
  const ParallelStep ahead =
      RunDataParallel(profile, dgx, {.devices = 8, .zero = 1, .gathers_ahead = true});
  const CollectiveCall all = {CollectiveOp::kAllGather, profile.weights, {8, 1}};
  const CollectiveCall one = {CollectiveOp::kAllGather, Bytes(64 << 20), {8, 1}};
  EXPECT_NEAR((behind.time - ahead.time).value(),
              (BestCollective(dgx, all).time() - BestCollective(dgx, one).time()).value(), 1e-9);
  EXPECT_EQ(ahead.sent, behind.sent);
}

TEST(ExchangeOverlap, OfReplicasHidesBesideTheLastPassOfAPipeline) {
  const StepProfile profile = Layers(8, 0.8, 8 << 20);
  const System dgx = Find("dgx-a100");
  HybridPlan plan;
  plan.data = 4;
  plan.stages = 2;
  plan.zero = 1;
  plan.global_batch = 64;
  const HybridStep waiting = RunHybrid(profile, dgx, plan);
  plan.overlap.replicas = true;
  const HybridStep hidden = RunHybrid(profile, dgx, plan);
  EXPECT_GT(waiting.exposed, Seconds());
  EXPECT_EQ(hidden.exposed, Seconds());
  EXPECT_NEAR((waiting.time - hidden.time) / waiting.exposed, 1, 1e-9);
}

TEST(ExchangeOverlap, SaysWhatItKnows) {
  EXPECT_TRUE(ParseExchangeOverlap("cp,ep").context);
  EXPECT_FALSE(ParseExchangeOverlap("").divided());
  EXPECT_THAT([] { ParseExchangeOverlap("tp,pp"); },
              ::testing::ThrowsMessage<Error>("--overlap 'pp': exchanges of tp, cp, ep and dp, as "
                                              "in --overlap cp,dp (did you mean 'tp'?)"));
}

TEST(Hybrid, ExtrapolatesALongPipelineExactly) {
  const StepProfile profile = Layers(8, 0.8, 8 << 20);
  const System dgx = Find("dgx-a100");
  HybridPlan plan;
  plan.stages = 2;
  plan.global_batch = 100;  // 100 micro-batches, 4 of them placed one by one
  const HybridStep step = RunHybrid(profile, dgx, plan);
  const Timeline all = PipelineTimeline(
      {{step.stages[0].forward, step.stages[0].backward,
        BestCollective(dgx, {CollectiveOp::kSend, step.stages[0].passed, {2, 1}}).time()},
       {step.stages[1].forward, step.stages[1].backward, Seconds()}},
      2, 100, PipelineSchedule::kOneFOneB);
  EXPECT_NEAR(step.time / all.Span(), 1, 0.01);
  EXPECT_LT(step.memory, MemoryOf(profile, {}));
}

// The first of 4 devices with 2 stages each starts 2 * 3 + 4 passes over a stage before the first
// comes back, and has one more on the way then: 11 eighths of what a micro-batch keeps.
TEST(Hybrid, KeepsTheMicroBatchesThatAreOnTheWay) {
  StepProfile profile = Layers(8, 0.8, 8 << 20);
  profile.saved = Bytes(8 << 20);
  for (StepKernel& kernel : profile.kernels) {
    if (kernel.phase == Phase::kForward) kernel.saved = Bytes(1 << 20);
  }
  profile.activations = Bytes(9 << 20);
  profile.gradient_sums = profile.gradients + profile.gradients;
  const System dgx = Find("dgx-a100");
  HybridPlan plan;
  plan.stages = 4;
  plan.chunks = 2;
  plan.schedule = PipelineSchedule::kInterleaved;
  plan.global_batch = 64;
  const HybridStep step = RunHybrid(profile, dgx, plan);
  EXPECT_EQ(step.saved, Bytes(11 << 20));
  // A quarter of weights and states, and of the sums of gradients; one micro-batch runs.
  EXPECT_EQ(step.lasting,
            Bytes((profile.weights + profile.states + profile.gradient_sums).count() / 4));
  EXPECT_EQ(step.memory, step.saved + step.lasting + Bytes(1 << 20));
  plan.chunks = 1;
  plan.schedule = PipelineSchedule::kOneFOneB;
  EXPECT_EQ(RunHybrid(profile, dgx, plan).saved, profile.saved);  // four quarters
}

TEST(Hybrid, SaysWhatDoesNotFitAndWhatWould) {
  const auto error = [](const std::string& text, std::int64_t micro, std::int64_t global) {
    try {
      HybridPlan plan = ParsePlan(text);
      plan.micro_batch = micro;
      plan.global_batch = global;
      CheckPlan(plan);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_EQ(error("dp=4,pp=2,zero=1", 2, 64), "");
  EXPECT_EQ(error("dp=3", 2, 64),
            "--global-batch 64 does not divide among 3 replicas with micro-batches of 2; 60 would");
  EXPECT_EQ(error("pp=2,zero=3", 1, 8),
            "zero=3 with pp=2: gradients last over the micro-batches; zero=1 would do");
  EXPECT_EQ(error("pp=4,chunks=2", 1, 6),
            "an interleaved schedule of 4 stages needs a multiple of 4 micro-batches, not 6");
  EXPECT_EQ(error("zer=1", 1, 1),
            "--parallel 'zer=1': write it as in dp=4,pp=2,zero=1 (did you mean 'zero'?)");
  EXPECT_EQ(error("dp=0", 1, 1), "--parallel 'dp=0': dp is 1 to 1048576");
  EXPECT_EQ(error("dp=2,dp=2", 1, 4), "--parallel: dp is given twice");
}

// Largest of n standard normal numbers: 0.56419 of 2, 1.42360 of 8, 2.50759 of 100 (Harter,
// Biometrika 1961).
TEST(Slowest, OfSeveralDevices) {
  EXPECT_EQ(SlowestOf(1, 0.02), 1);
  EXPECT_EQ(SlowestOf(64, 0), 1);
  EXPECT_NEAR(SlowestOf(2, 0.1), 1 + 0.1 * 0.56419, 0.003);
  EXPECT_NEAR(SlowestOf(8, 0.1), 1 + 0.1 * 1.42360, 0.002);
  EXPECT_NEAR(SlowestOf(100, 0.1), 1 + 0.1 * 2.50759, 0.002);
}

TEST(Slowest, IsWhatAllWaitFor) {
  const StepProfile profile = Layers(8, 0.4, 8 * (64 << 20));
  const System dgx = Find("dgx-a100");
  const ParallelStep even = RunDataParallel(profile, dgx, {.devices = 8});
  const ParallelStep uneven = RunDataParallel(profile, dgx, {.devices = 8, .spread = 0.02});
  EXPECT_NEAR(uneven.compute.value(), 0.4 * SlowestOf(8, 0.02), 1e-12);
  EXPECT_EQ(uneven.communication, even.communication);
  EXPECT_NEAR(RunDataParallel(profile, dgx, {.spread = 0.02}).time.value(), 0.4, 1e-12);
}

TEST(Hybrid, TriesEveryPlanThatDivides) {
  const StepProfile profile = Layers(16, 0.2, 64 << 20);
  const std::vector<HybridStep> steps =
      AllPlans([&](const HybridPlan& plan) { return plan.tensor == 1 ? &profile : nullptr; },
               Find("dgx-a100"), {.devices = 64, .global_batch = 1024})
          .steps;
  EXPECT_GT(steps.size(), 40u);
  for (std::size_t i = 1; i < steps.size(); ++i) EXPECT_LE(steps[i - 1].time, steps[i].time);
  for (const HybridStep& step : steps) EXPECT_EQ(step.plan.devices(), 64);
}

// Of 3 GB micro-batches of one and two items fit, of four nothing does, and eight would need more.
TEST(Hybrid, LooksAtNoLargerMicroBatchesOfWhatDoesNotFit) {
  std::map<std::int64_t, StepProfile> profiles;
  const auto profile_of = [&](const HybridPlan& plan) -> const StepProfile* {
    if (plan.tensor > 1) return nullptr;
    StepProfile& profile = profiles[plan.micro_batch];
    profile = Layers(16, 0.2, 64 << 20);
    profile.activations = Bytes(plan.micro_batch * 1'000'000'000);
    return &profile;
  };
  const FoundPlans found =
      AllPlans(profile_of, Find("dgx-a100"),
               {.devices = 64, .global_batch = 1024, .memory = Bytes(3'000'000'000)});
  EXPECT_EQ(profiles.size(), 3u);
  EXPECT_EQ(found.too_large, 1);
  EXPECT_TRUE(std::any_of(found.steps.begin(), found.steps.end(),
                          [](const HybridStep& step) { return step.plan.micro_batch == 4; }));
}

}  // namespace
}  // namespace dlcost
