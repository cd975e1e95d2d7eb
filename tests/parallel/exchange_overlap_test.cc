// What is exchanged beside computation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "estimator/collective/collective.h"
#include "estimator/core/error.h"
#include "estimator/parallel/hybrid.h"
#include "tests/parallel/equal_layers.h"

namespace dlcost {
namespace {

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

}  // namespace
}  // namespace dlcost
