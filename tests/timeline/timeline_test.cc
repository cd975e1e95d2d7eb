// The scheduler, what it tells of idle and exposed time, traces that our own reader reads back, and
// the published input chain.
#include "estimator/timeline/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "estimator/core/error.h"
#include "estimator/profiles/json_events.h"
#include "estimator/timeline/input_chain.h"

namespace dlcost {
namespace {

TEST(Timeline, StartsATaskOncePredecessorsAndResourceAreFree) {
  Timeline timeline;
  const std::size_t compute = timeline.AddResource("compute");
  const std::size_t network = timeline.AddResource("network");
  const auto a = timeline.Add({"a", TaskKind::kKernel, compute, Seconds(3)});
  const auto b = timeline.Add({"b", TaskKind::kKernel, compute, Seconds(2), {a}});
  const auto c = timeline.Add({"c", TaskKind::kCommunication, network, Seconds(4), {a}});
  const auto d = timeline.Add({"d", TaskKind::kCommunication, network, Seconds(1), {b}});
  const auto e = timeline.Add({"e", TaskKind::kKernel, compute, Seconds(1), {c, d}});
  timeline.Schedule();
  EXPECT_EQ(timeline.placed()[c].start, Seconds(3));
  EXPECT_EQ(timeline.placed()[d].start, Seconds(7));
  EXPECT_EQ(timeline.placed()[d].waiting.reason, Waiting::For::kResource);
  EXPECT_EQ(timeline.placed()[e].start, Seconds(8));
  EXPECT_EQ(timeline.Span(), Seconds(9));
  // c runs from 3 to 7, compute until 5; d from 7 to 8.
  EXPECT_EQ(Exposed(timeline, network, compute), Seconds(3));
  const ResourceUse use = UseOf(timeline, compute);
  EXPECT_EQ(use.busy, Seconds(6));
  EXPECT_EQ(use.idle, Seconds(3));
  ASSERT_EQ(use.gaps.size(), 1u);
  EXPECT_EQ(use.gaps[0].cause, "d");
}

TEST(Timeline, LengthensWhatRunsBesideOthers) {
  Timeline timeline;
  const std::size_t compute = timeline.AddResource("compute");
  const std::size_t network = timeline.AddResource("network");
  const auto a = timeline.Add({"a", TaskKind::kKernel, compute, Seconds(3)});
  const auto b = timeline.Add({"b", TaskKind::kKernel, compute, Seconds(2), {a}});
  const auto c = timeline.Add({"c", TaskKind::kCommunication, network, Seconds(4)});
  timeline.Schedule();
  // c runs until 4: beside all of a and half of b.
  const auto beside = Beside(timeline, compute, network);
  ASSERT_EQ(beside.size(), 2u);
  EXPECT_EQ(beside[0], std::pair(a, Seconds(3)));
  EXPECT_EQ(beside[1], std::pair(b, Seconds(1)));
  EXPECT_THAT(Beside(timeline, network, compute), ::testing::ElementsAre(std::pair(c, Seconds(4))));
  timeline.Lengthen(a, Seconds(1));
  timeline.Schedule();
  EXPECT_EQ(timeline.Span(), Seconds(6));
}

TEST(Timeline, RunsAsManyTasksAsThereAreLanesByPriority) {
  Timeline timeline;
  const std::size_t cores = timeline.AddResource("cores", 2);
  const auto late = timeline.Add({"late", TaskKind::kHost, cores, Seconds(1), {}, 2});
  const auto one = timeline.Add({"one", TaskKind::kHost, cores, Seconds(2), {}, 1});
  const auto two = timeline.Add({"two", TaskKind::kHost, cores, Seconds(3), {}, 1});
  timeline.Schedule();
  EXPECT_EQ(timeline.placed()[one].start, Seconds(0));
  EXPECT_EQ(timeline.placed()[two].start, Seconds(0));
  EXPECT_EQ(timeline.placed()[late].start, Seconds(2));
}

TEST(Timeline, RefusesACircle) {
  Timeline timeline;
  const std::size_t compute = timeline.AddResource("compute");
  timeline.Add({"a", TaskKind::kKernel, compute, Seconds(1), {1}});
  timeline.Add({"b", TaskKind::kKernel, compute, Seconds(1), {0}});
  EXPECT_THAT([&] { timeline.Schedule(); },
              ::testing::ThrowsMessage<Error>("task 'a' waits for itself, by way of others"));
}

TEST(Timeline, WritesATraceThatOurReaderReads) {
  const Timeline timeline = PrefetchTimeline(Seconds(0.25), Seconds(0.5), 3, 1);
  const std::string trace = ChromeTrace(timeline, "step");
  Input input = Input::FromMemory("trace.json", trace);
  std::int64_t nanoseconds = 0, end = 0;
  int events = 0;
  ForEachEvent(input, [&](const JsonEvent& event) {
    if (event.ph != "X" || event.cat != "kernel") return;
    ++events;
    nanoseconds += *event.duration;
    end = std::max(end, *event.start + *event.duration);
  });
  EXPECT_EQ(events, 3);
  EXPECT_EQ(nanoseconds, 1500000000);
  EXPECT_EQ(end, 1750000000);
}

// Serial preparation and training, then overlapped, as published: the step becomes the longer
// stage, and what is saved is the preparation. That of SqueezeNet on V100 takes longer (115 ms)
// than its training (85 ms): one loader would not hide it, two do.
TEST(InputChain, HidesThePreparationOfPublishedTrainings) {
  struct Published {
    double serial, overlapped, preparation;
  };
  for (const Published& one : {Published{0.301, 0.258, 0.043}, Published{0.225, 0.146, 0.079},
                               Published{0.206, 0.140, 0.066}, Published{0.200, 0.085, 0.115}}) {
    const Seconds prepare(one.preparation), train(one.overlapped);
    EXPECT_NEAR(SteadyStep(prepare, train, 0).value(), one.serial, 1e-9);
    EXPECT_NEAR(SteadyStep(prepare, train, 1).value(), std::max(one.preparation, one.overlapped),
                1e-9);
    EXPECT_NEAR(SteadyStep(prepare, train, 2, 2).value(), one.overlapped, 1e-9);
    EXPECT_NEAR(SteadyStep(prepare, train, 5, 4).value(), one.overlapped, 1e-9);
  }
}

TEST(InputChain, FindsTheSlowestStage) {
  EXPECT_EQ(SlowestStage({}), nullptr);
  const std::vector<InputStage> stages = {{"storage", 85714, ""}, {"compute", 1050, ""}};
  EXPECT_EQ(SlowestStage(stages)->name, "compute");
}

}  // namespace
}  // namespace dlcost
