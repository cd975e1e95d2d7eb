// Collectives: the arithmetic of rings exactly, how groups meet the levels of a system, what is
// chosen, and what cannot run.
#include "estimator/collective/collective.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "estimator/collective/fit_links.h"
#include "estimator/collective/group_level.h"
#include "estimator/core/error.h"
#include "estimator/system/system_database.h"

namespace dlcost {
namespace {

System Find(const std::string& name) {
  return SystemDatabase({std::string(DLCOST_SOURCE_DIR) + "/hw_specs"}).Find(name);
}

CollectiveCall Call(CollectiveOp op, std::int64_t bytes, int size, int stride = 1) {
  return {op, Bytes(bytes), {size, stride}};
}

// Patarasuk and Yuan (2009): FaceNet's 23,482,624 gradients on four devices.
TEST(RingArithmetic, OfFaceNetIsExact) {
  const CollectiveCall fp32 = Call(CollectiveOp::kAllReduce, 23482624 * 4, 4);
  EXPECT_EQ(RingBytes(fp32).value(), 140895744);  // 140.9 MB
  EXPECT_NEAR((RingBytes(fp32) / ByteRate(100e9)).value(), 1.409e-3, 1e-6);
  EXPECT_NEAR((RingBytes(fp32) / ByteRate(25e9 / 8)).value(), 45.09e-3, 1e-5);
  const CollectiveCall fp16 = Call(CollectiveOp::kAllReduce, 23482624 * 2, 4);
  EXPECT_EQ(RingBytes(fp16).value() * 2, RingBytes(fp32).value());
}

TEST(RingArithmetic, CountsEachCollective) {
  EXPECT_EQ(RingBytes(Call(CollectiveOp::kAllGather, 800, 8)).value(), 700);
  EXPECT_EQ(RingBytes(Call(CollectiveOp::kReduceScatter, 800, 8)).value(), 700);
  EXPECT_EQ(RingBytes(Call(CollectiveOp::kAllToAll, 800, 8)).value(), 700);
  EXPECT_EQ(RingBytes(Call(CollectiveOp::kBroadcast, 800, 8)).value(), 800);
  EXPECT_EQ(RingBytes(Call(CollectiveOp::kAllReduce, 10, 3)).value(), 14);  // 13.3 rounded up
  EXPECT_DOUBLE_EQ(BusFactor(Call(CollectiveOp::kAllReduce, 1, 4)), 1.5);
}

TEST(Group, UsesTheLevelsThatJoinIt) {
  const System dgx = Find("dgx-a100");
  const auto near = LevelsOf(dgx, {8, 1});
  ASSERT_EQ(near.size(), 1u);
  EXPECT_EQ(near[0].joined, 8);
  const auto both = LevelsOf(dgx, {64, 1});
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[1].below, 8);
  EXPECT_EQ(CrossingsOf(both[0], 64), 56);
  EXPECT_EQ(CrossingsOf(both[1], 64), 7);
  // One device of every node: the network alone.
  const auto far = LevelsOf(dgx, {8, 8});
  ASSERT_EQ(far.size(), 1u);
  EXPECT_TRUE(far[0].link->network);
  EXPECT_EQ(far[0].below, 1);
  // Four of eight in a full mesh reach three of seven neighbours.
  EXPECT_DOUBLE_EQ(LevelsOf(Find("mi300x-node"), {4, 1})[0].rate, 448e9 * 3 / 7);
}

// Between leaves of a network four times oversubscribed: neighbours of a ring leave theirs once, so
// that the cards limit still; an all-to-all leaves it with all that is for others.
TEST(Group, StaysInItsLeafWhereItCan) {
  System flat = Find("dgx-a100");
  System leaves = flat;
  SystemLink between = leaves.links.back();
  between.bandwidth = between.bandwidth / 4.0;
  leaves.links.back().joins = 4 * 8;
  leaves.links.push_back(between);
  for (const int size : {16, 32, 128}) {
    for (const CollectiveOp op : {CollectiveOp::kAllReduce, CollectiveOp::kAllGather}) {
      const CollectiveCall call = Call(op, 256 << 20, size);
      EXPECT_EQ(BestCollective(leaves, call).transfer, BestCollective(flat, call).transfer);
    }
  }
  const CollectiveCall near = Call(CollectiveOp::kAllToAll, 256 << 20, 32);
  const CollectiveCall far = Call(CollectiveOp::kAllToAll, 256 << 20, 64);
  EXPECT_EQ(BestCollective(leaves, near).time(), BestCollective(flat, near).time());
  // 32 of 64 parts leave at a quarter of the rate, where 56 of 64 leave the node.
  EXPECT_NEAR(BestCollective(leaves, far).transfer / BestCollective(flat, far).transfer,
              4.0 * 32 / 56, 1e-9);
}

TEST(Group, BeyondTheSystemIsAnError) {
  EXPECT_THAT(
      [] {
        LevelsOf(Find("l40s-server"), {16, 1});
      },
      ::testing::ThrowsMessage<Error>(
          "l40s-server joins at most 8 devices, not 16: its file names no network"));
}

TEST(Collective, TakesLatencyForSmallAndBandwidthForLargeBuffers) {
  const System dgx = Find("dgx-a100");
  const CollectiveRun small = BestCollective(dgx, Call(CollectiveOp::kAllReduce, 1024, 8));
  const CollectiveRun large = BestCollective(dgx, Call(CollectiveOp::kAllReduce, 1 << 30, 8));
  EXPECT_EQ(small.protocol, LinkProtocol::kLL);
  EXPECT_EQ(large.protocol, LinkProtocol::kSimple);
  EXPECT_GT(small.latency, small.transfer);
  EXPECT_LT(large.latency, large.transfer);
}

TEST(Collective, ReducesInTheSwitchWhereItCan) {
  const CollectiveCall call = Call(CollectiveOp::kAllReduce, 1 << 30, 8);
  EXPECT_EQ(BestCollective(Find("dgx-h100"), call).algorithm, "nvls");
  EXPECT_EQ(BestCollective(Find("dgx-a100"), call).algorithm, "ring");
  EXPECT_THAT(
      [&] {
        BestCollective(Find("dgx-a100"), call, {"nvls", std::nullopt});
      },
      ::testing::ThrowsMessage<Error>(
          "all_reduce of 8 devices on dgx-a100-80gb does not run by nvls"));
}

TEST(Collective, ChoosesTreesForSmallBuffersOnManyNodes) {
  const System dgx = Find("dgx-a100");
  EXPECT_EQ(BestCollective(dgx, Call(CollectiveOp::kAllReduce, 1 << 20, 1024)).algorithm, "tree");
  // A ring of 1,024 takes 254 steps between nodes, a tree of 128 nodes 14.
  const auto ring = BestCollective(dgx, Call(CollectiveOp::kAllReduce, 8, 1024), {"ring", {}});
  const auto tree = BestCollective(dgx, Call(CollectiveOp::kAllReduce, 8, 1024), {"tree", {}});
  EXPECT_GT(ring.latency / tree.latency, 10);
}

TEST(Collective, NeverBeatsTheRatedLinks) {
  for (const char* name :
       {"dgx-1-v100", "dgx-a100", "dgx-h100", "l40s-server", "aws-p3-16xlarge"}) {
    const System system = Find(name);
    for (const CollectiveOp op : kCollectiveOps) {
      for (const int size : {2, 4, 8}) {
        const CollectiveCall call = Call(op, 256 << 20, size);
        // A switch that reduces saves a device the second pass.
        const double ring = RingBytes(call).AsDouble();
        const double least = op == CollectiveOp::kAllReduce
                                 ? std::min(ring, call.bytes.AsDouble() * (1 + 1.0 / size))
                                 : ring;
        EXPECT_GE(BestCollective(system, call).time().value(),
                  least / system.links.front().bandwidth.value())
            << name << " " << Name(op) << " " << size;
      }
    }
  }
}

TEST(Collective, OfOneMovesNothing) {
  EXPECT_EQ(BestCollective(Find("dgx-a100"), Call(CollectiveOp::kAllReduce, 1 << 20, 1)).time(),
            Seconds());
}

TEST(Collective, NamesTheNearestSpelling) {
  EXPECT_THAT([] { ParseCollectiveOp("all_reduc"); },
              ::testing::ThrowsMessage<Error>(::testing::HasSubstr("did you mean 'all_reduce'")));
}

TEST(FitLinks, FindsTheConstantsThatMadeTheTimes) {
  System truth = Find("dgx-a100");
  for (auto& [protocol, constants] : truth.links[0].timing.protocols) constants.start *= 1.5;
  std::vector<MeasuredCollective> rows;
  for (std::int64_t bytes = 1 << 10; bytes <= 1 << 28; bytes *= 2) {
    const CollectiveCall call = Call(CollectiveOp::kAllReduce, bytes, 8);
    rows.push_back({&truth, call, BestCollective(truth, call).time(), rows.size() % 2 == 1});
  }
  System fitted = Find("dgx-a100");
  const double before = *MedianError(fitted, rows, true);
  FitLinks(fitted, "nvlink3", false, rows);
  EXPECT_GT(before, 0.1);
  EXPECT_LT(*MedianError(fitted, rows, true), 0.02);
}

}  // namespace
}  // namespace dlcost
