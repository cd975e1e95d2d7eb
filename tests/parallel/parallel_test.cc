// Data parallel steps, ZeRO, scaling as published, the slowest device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "estimator/collective/collective.h"
#include "estimator/core/error.h"
#include "estimator/parallel/hybrid.h"
#include "estimator/parallel/scaling.h"
#include "estimator/parallel/sharded_units.h"
#include "estimator/parallel/slowest.h"
#include "tests/parallel/equal_layers.h"

namespace dlcost {
namespace {

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
  serial.gradients.overlap = false;
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

// Gradients that nobody else has, of a single pass, live from where they are made to the update:
// what is live at most is that of a report. Exchanges and sums have room for all of them.
TEST(DataParallel, OneDeviceNeedsWhatAReportSays) {
  StepProfile profile = Layers(4, 0.1, 4000);
  profile.alone = Bytes(14500);
  profile.gradient_sums = profile.gradients;
  EXPECT_EQ(MemoryOf(profile, {}), Bytes(14500));
  EXPECT_EQ(LastingOf(profile, {}, 1), Bytes(4000 + 8000));
  EXPECT_EQ(MemoryOf(profile, {}, 2), Bytes(1000 + 4000 * 4));
  EXPECT_EQ(MemoryOf(profile, {.devices = 2}), Bytes(1000 + 4000 * 4));
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
  EXPECT_EQ(MemoryOf(profile, {.zero = 3}, 2) - LastingOf(profile, {.zero = 3}, 2), Bytes(1000));
  // The embedding is gathered once, layers before both of their passes, and each is scattered.
  const ParallelStep step = RunDataParallel(profile, Find("dgx-a100"), plan);
  EXPECT_EQ(step.collectives, (1 + 8) + (4 + 1));
  EXPECT_EQ(step.sent, Bytes((500 + 8000 + 4500) * 3 / 4));
}

// FSDP2: the layers that compute are copies of what was gathered, into buffers of 1000 for two of
// them and 250 for the part of one that a device has.
TEST(DataParallel, GathersUnitsIntoBuffers) {
  StepProfile profile = Modules();
  DataParallelPlan plan{.devices = 4, .zero = 3, .copies = true};
  // While layer 2 goes back: the embedding, the layer, its gradients and those of layer 3.
  EXPECT_EQ(PassesWithGathered(profile, plan), Bytes(500 + 1000 + 1000 + 1000 + 100 + 2250));
  const System dgx = Find("dgx-a100");
  const Seconds before = RunDataParallel(profile, dgx, plan).compute;
  profile.streaming = {.rate = ByteRate(1e6)};
  // Reads and writes what is gathered, once the embedding and twice each layer, and the gradients.
  EXPECT_NEAR((RunDataParallel(profile, dgx, plan).compute - before).value(),
              (2 * (500 + 8000) + 2 * 4000 + 500) / 1e6, 1e-9);
  // Gradients are scattered in a type twice as wide as that they are kept in.
  for (StepKernel& kernel : profile.kernels) kernel.gradients += kernel.gradients;
  EXPECT_EQ(PassesWithGathered(profile, plan), Bytes(500 + 1000 + 1000 + 2000 + 100 + 2250));
}

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

// FaceNet on P100: 32,000 iterations in 14,720 s on 1, 19,000 in 9,327.878 s on 2, 8,250 in
// 3,753.75 s on 4 devices.
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

}  // namespace
}  // namespace dlcost
