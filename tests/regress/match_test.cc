#include "estimator/regress/match.h"

#include <gtest/gtest.h>

#include <deque>

namespace dlcost {
namespace {

// "op:detail name <- producers", in the order of the vector.
MatchNode Node(std::uint64_t op, std::uint64_t detail, const char* name,
               std::vector<std::int32_t> producers = {}) {
  static std::deque<std::vector<std::int32_t>> kept;
  return {.name = name,
          .op = op,
          .detail = detail,
          .core = detail,
          .producers = kept.emplace_back(std::move(producers))};
}

constexpr std::int32_t kNone = kNoMatch;

TEST(MatchNodes, PairsARenamedGraphWithItself) {
  const std::vector<MatchNode> before = {Node(1, 1, "a"), Node(2, 2, "b", {0}),
                                         Node(1, 1, "c", {0}), Node(3, 3, "d", {1, 2})};
  std::vector<MatchNode> after = before;
  for (MatchNode& node : after) node.name = "another";
  EXPECT_EQ(MatchNodes(before, after).before_to_after, (std::vector<std::int32_t>{0, 1, 2, 3}));
}

TEST(MatchNodes, SeesAnInsertedNodeAlthoughEveryLaterNumberMoved) {
  // Conv_0 -> Relu_1 -> Conv_2 against Conv_0 -> Norm_1 -> Relu_2 -> Conv_3.
  const std::vector<MatchNode> before = {Node(1, 1, "Conv_0"), Node(2, 2, "Relu_1", {0}),
                                         Node(1, 5, "Conv_2", {1})};
  const std::vector<MatchNode> after = {Node(1, 1, "Conv_0"), Node(9, 9, "Norm_1", {0}),
                                        Node(2, 2, "Relu_2", {1}), Node(1, 5, "Conv_3", {2})};
  const Matching matching = MatchNodes(before, after);
  EXPECT_EQ(matching.before_to_after, (std::vector<std::int32_t>{0, 2, 3}));
  EXPECT_EQ(matching.after_to_before, (std::vector<std::int32_t>{0, kNone, 1, 2}));
}

TEST(MatchNodes, KeepsTheNodesBetweenTwoChanges) {
  std::vector<MatchNode> before, after;
  for (std::int32_t i = 0; i < 10; ++i) {
    before.push_back(
        Node(1, 1, "n", i == 0 ? std::vector<std::int32_t>{} : std::vector<std::int32_t>{i - 1}));
  }
  after = before;
  after[2].detail = 7;
  after[7].detail = 8;
  const Matching matching = MatchNodes(before, after);
  for (std::int32_t i = 0; i < 10; ++i) {
    EXPECT_EQ(matching.before_to_after[static_cast<std::size_t>(i)], i);
  }
}

TEST(MatchNodes, NeverPairsDifferentOperators) {
  const Matching matching = MatchNodes({Node(1, 1, "x")}, {Node(2, 1, "x")});
  EXPECT_EQ(matching.before_to_after, (std::vector<std::int32_t>{kNone}));
}

TEST(MatchNodes, AnEmptySideMatchesNothing) {
  EXPECT_EQ(MatchNodes({}, {Node(1, 1, "x")}).after_to_before, (std::vector<std::int32_t>{kNone}));
  EXPECT_TRUE(MatchNodes({}, {}).before_to_after.empty());
}

// A tensor that everything reads must not make matching quadratic: this would run for minutes.
TEST(MatchNodes, ManyReadersOfOneTensor) {
  constexpr std::int32_t kReaders = 100'000;
  std::vector<MatchNode> before = {Node(1, 1, "source")}, after = {Node(1, 2, "source")};
  for (std::int32_t i = 0; i < kReaders; ++i) {
    const auto detail = static_cast<std::uint64_t>(i);
    before.push_back(Node(2, 1000 + detail, "a", {0}));
    after.push_back(Node(2, 2'000'000 - detail, "b", {0}));
  }
  const Matching matching = MatchNodes(before, after);
  EXPECT_EQ(matching.before_to_after[0], 0);
}

}  // namespace
}  // namespace dlcost
