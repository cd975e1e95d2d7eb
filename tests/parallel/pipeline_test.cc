// Pipelines against their closed forms, plans that combine them, and the search for plans.
#include "estimator/parallel/pipeline.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>

#include "estimator/collective/collective.h"
#include "estimator/core/error.h"
#include "estimator/parallel/hybrid.h"
#include "estimator/parallel/plan_search.h"
#include "tests/parallel/equal_layers.h"

namespace dlcost {
namespace {

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

TEST(Hybrid, SendsGradientsAsItIsTold) {
  const StepProfile profile = Layers(8, 0.4, 8 * (64 << 20));
  const System dgx = Find("dgx-a100");
  HybridPlan plan = ParsePlan("dp=8");
  plan.global_batch = 8;
  DataParallelPlan replicas{.devices = 8};
  for (const std::int64_t bucket : {1 << 20, 128 << 20, 1 << 30}) {
    for (const bool overlap : {true, false}) {
      plan.gradients = replicas.gradients = {Bytes(bucket), overlap};
      EXPECT_EQ(RunHybrid(profile, dgx, plan).time, RunDataParallel(profile, dgx, replicas).time);
    }
  }
  // Buckets of two layers: half as many collectives.
  replicas.gradients = {Bytes(128 << 20), true};
  EXPECT_EQ(RunDataParallel(profile, dgx, replicas).collectives, 4);
}

// Three micro-batches add up twice: a gradient and a sum are read, and the sum is written.
TEST(Hybrid, AddsGradientsUp) {
  StepProfile profile = Layers(8, 0.4, 8000);
  const System dgx = Find("dgx-a100");
  HybridPlan plan = ParsePlan("dp=1");
  plan.global_batch = 3;
  const auto time = [&] { return RunHybrid(profile, dgx, plan).time.value(); };
  const double before = time();
  profile.streaming = {.rate = ByteRate(1e6)};
  for (StepKernel& kernel : profile.kernels) kernel.summed = kernel.trained + kernel.trained;
  EXPECT_NEAR(time() - before, 2 * (8000 + 2 * 16000) / 1e6, 1e-9);
  // Each sum is a kernel that starts.
  profile.streaming.start = Seconds(1e-3);
  profile.kernels[8].sums = 3;
  EXPECT_NEAR(time() - before, 2 * ((8000 + 2 * 16000) / 1e6 + 3 * 1e-3), 1e-9);
  // Products that add up themselves write no gradient.
  plan.gradients.fused_sums = true;
  EXPECT_NEAR(time() - before, 2 * (2 * 16000 - 8000) / 1e6, 1e-9);
  plan.global_batch = 1;
  const double alone = time();
  profile.streaming = {};
  EXPECT_EQ(time(), alone);
  // In every stage of a pipeline, of the gradients that are its own.
  plan = ParsePlan("pp=2");
  plan.global_batch = 8;
  const double without = time();
  profile.streaming = {.rate = ByteRate(1e6)};
  const double adds = (8000 + 2 * 16000) / 2 / 1e6 * 7 / 8;  // of a micro-batch, in the mean
  EXPECT_NEAR(time() - without, (8 + 1) * adds, 1e-9);
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
  EXPECT_LT(step.memory, MemoryOf(profile, {}, 100));
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
  EXPECT_EQ(error("dp=2,zero=1,fsdp=2", 1, 2), "--parallel dp=2,zero=1,fsdp=2: fsdp is zero=3");
  EXPECT_EQ(ToString(ParsePlan("dp=2,fsdp=1")), "dp=2,pp=1,zero=3");
  EXPECT_EQ(ToString(ParsePlan("dp=2,fsdp=2,zero=3")), "dp=2,pp=1,fsdp=2");
  EXPECT_EQ(ParsePlan("dp=2,fsdp=2").zero, 3);
  EXPECT_EQ(error("dp=0", 1, 1), "--parallel 'dp=0': dp is 1 to 1048576");
  EXPECT_EQ(error("dp=2,dp=2", 1, 4), "--parallel: dp is given twice");
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

TEST(Hybrid, FindsTheSamePlansInAnyOrder) {
  const StepProfile profile = Layers(16, 0.2, 64 << 20);
  const auto plans_of = [&](auto for_each) {
    const ProfileOfPlan profile_of = [&](const HybridPlan& plan) {
      return plan.tensor < 8 ? &profile : nullptr;
    };
    std::vector<std::string> plans;
    for (const HybridStep& step :
         AllPlans(profile_of, Find("dgx-a100"),
                  {.devices = 64, .global_batch = 1024, .for_each = for_each})
             .steps) {
      plans.push_back(
          fmt::format("{} {} {}", ToString(step.plan), step.plan.micro_batch, step.time.value()));
    }
    return plans;
  };
  int calls = 0;
  const auto backwards = [&](std::size_t count, const std::function<void(std::size_t)>& body) {
    for (std::size_t i = count; i-- > 0; ++calls) body(i);
  };
  EXPECT_EQ(plans_of(backwards), plans_of(nullptr));
  EXPECT_GT(calls, 10);
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
