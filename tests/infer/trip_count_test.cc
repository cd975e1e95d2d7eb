// How often loops run: numbers are those of ONNX Runtime 1.31 running the same graphs (MatMul
// events of its profile), or where that would take too long, follow from the condition.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <optional>

#include "tests/infer/small_model.h"

namespace dlcost {
namespace {

using ::testing::HasSubstr;

// while: x [2,8] = x w, and a counter k from `start`. Nodes of the body that make the condition
// "go" and "k2" are added to body(); 128 multiply-accumulates an iteration.
class Looping {
 public:
  explicit Looping(std::optional<std::int64_t> limit, std::int64_t start = 0) {
    body_.Input("i", {}, onnx::TensorProto::INT64).Input("c", {}, onnx::TensorProto::BOOL);
    body_.Input("x", {2, 8}).Input("k", {}, onnx::TensorProto::INT64);
    body_.Node("MatMul", {"x", "w"}, {"x2"});
    model_.Input("x0", {2, 8}).Weight("w", {8, 8}).Scalar("k0", start);
    if (limit) {
      model_.Scalar("limit", *limit);
      limit_ = "limit";
    }
  }

  SmallModel& body() { return body_; }
  Looping& Start(bool condition) {
    model_.Scalar("start", condition ? 1 : 0, onnx::TensorProto::BOOL);
    start_ = "start";
    return *this;
  }
  Looping& OpenStart() {
    model_.Input("start", {}, onnx::TensorProto::BOOL);
    start_ = "start";
    return *this;
  }
  Looping& Constant(const std::string& name, std::int64_t value) {
    model_.Scalar(name, value);
    return *this;
  }
  // k2 = k + step, going on while k2 < end.
  Looping& WhileBelow(std::int64_t step, std::int64_t end) {
    Constant("step", step).Constant("end", end);
    body_.Node("Add", {"k", "step"}, {"k2"}).Node("Less", {"k2", "end"}, {"go"});
    return *this;
  }
  SmallModel Model() {
    body_.Output("go").Output("x2").Output("k2");
    SetGraph(model_.AddNode("Loop", {limit_, start_, "x0", "k0"}, {"y", "k9"}), "body", body_);
    model_.Output("y");
    return model_;
  }

 private:
  SmallModel body_, model_;
  std::string limit_, start_;
};

InferredModel InferWith(const SmallModel& model, const std::string& trips = "") {
  InferOptions options;
  if (!trips.empty()) AddTrips(options.control, trips);
  return Infer(model.Read(), options);
}

Count TripsOf(const InferredModel& model) {
  Count macs;
  for (const CountedNode& node : model.nodes) macs += node.cost.work.macs().count();
  return macs / Count(128);
}

Count TripsOf(Looping& loop) { return TripsOf(InferWith(loop.Model())); }

// The body hands the condition on.
Looping Endless(std::int64_t limit) {
  Looping loop(limit);
  loop.body().Node("Identity", {"c"}, {"go"}).Node("Identity", {"k"}, {"k2"});
  return loop;
}

TEST(TripCount, ALimitOfAnySign) {
  for (const auto& [limit, trips] : {std::pair{kMin, 0}, {-1, 0}, {0, 0}, {1, 1}, {5, 5}}) {
    Looping loop = Endless(limit);
    EXPECT_EQ(TripsOf(loop), Count(trips)) << limit;
  }
  Looping never = Endless(kMax);
  EXPECT_EQ(TripsOf(never.Start(false)), Count(0));
  Looping never_either = Endless(5);
  EXPECT_EQ(TripsOf(never_either.Start(false)), Count(0));
}

// 2^63 - 1 by way of a double is negative: a limit of zero.
TEST(TripCount, TheLargestLimitIsNone) {
  for (const std::int64_t limit : {kMax, kMax - 1, std::int64_t{INT32_MAX}}) {
    Looping loop(limit);
    EXPECT_EQ(TripsOf(loop.Start(true).WhileBelow(1, 7)), Count(7)) << limit;
  }
  Looping late(kMax, 100);
  EXPECT_EQ(TripsOf(late.WhileBelow(1, 7)), Count(1)) << "the condition comes after the body";
  Looping limited(4);
  EXPECT_EQ(TripsOf(limited.WhileBelow(1, 7)), Count(4));
}

TEST(TripCount, ALoopThatNothingEndsIsAnError) {
  const SmallModel model = Endless(kMax).Model();
  try {
    InferWith(model);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("n_y"));
    EXPECT_THAT(error.what(), HasSubstr("never ends"));
  }
  EXPECT_EQ(TripsOf(InferWith(model, "n_y=3")), Count(3)) << "unless the user knows better";
}

// One comparison of the iteration's number i with 7, and how often it lets the body run.
TEST(TripCount, Comparisons) {
  const struct {
    const char* op;
    bool swapped;
    int trips;
  } kCases[] = {{"Less", false, 8},          {"LessOrEqual", false, 9}, {"Greater", true, 8},
                {"GreaterOrEqual", true, 9}, {"Greater", false, 1},     {"Equal", false, 1}};
  for (const auto& [op, swapped, trips] : kCases) {
    Looping loop(kMax);
    loop.Constant("seven", 7).body().Node("Identity", {"k"}, {"k2"});
    loop.body().Node(op, {swapped ? "seven" : "i", swapped ? "i" : "seven"}, {"go"});
    EXPECT_EQ(TripsOf(loop), Count(trips)) << op;
  }
}

TEST(TripCount, UntilEqual) {
  Looping loop(kMax);
  loop.Constant("seven", 7).body().Node("Identity", {"k"}, {"k2"});
  loop.body().Node("Equal", {"seven", "i"}, {"stop"}).Node("Not", {"stop"}, {"go"});
  EXPECT_EQ(TripsOf(loop), Count(8));
}

// k = 3, 6, 9, ... passes 7 without meeting it; i < 50 ends the loop.
TEST(TripCount, UntilEqualButJumpedOver) {
  Looping loop(kMax);
  loop.Constant("three", 3).Constant("seven", 7).Constant("fifty", 50);
  loop.body().Node("Add", {"k", "three"}, {"k2"}).Node("Equal", {"k2", "seven"}, {"stop"});
  loop.body().Node("Not", {"stop"}, {"not_yet"}).Node("Less", {"i", "fifty"}, {"few"});
  loop.body().Node("And", {"not_yet", "few"}, {"go"});
  EXPECT_EQ(TripsOf(loop), Count(51));
}

TEST(TripCount, CountingDown) {
  Looping loop(kMax, 20);
  loop.Constant("three", 3).Constant("zero", 0);
  loop.body().Node("Sub", {"k", "three"}, {"k2"}).Node("Greater", {"k2", "zero"}, {"go"});
  EXPECT_EQ(TripsOf(loop), Count(7));
}

TEST(TripCount, TheFirstOfTwoReasons) {
  for (const bool negated : {false, true}) {
    Looping loop(kMax);
    loop.Constant("ten", 10).Constant("thirty", 30).Constant("seven", 7);
    SmallModel& body = loop.body();
    body.Node("Add", {"k", "ten"}, {"k2"});
    if (negated) {
      body.Node("GreaterOrEqual", {"k2", "thirty"}, {"a"})
          .Node("GreaterOrEqual", {"i", "seven"}, {"b"});
      body.Node("Or", {"a", "b"}, {"stop"}).Node("Not", {"stop"}, {"go"});
    } else {
      body.Node("Less", {"k2", "thirty"}, {"a"}).Node("Less", {"i", "seven"}, {"b"});
      body.Node("And", {"a", "b"}, {"go"});
    }
    EXPECT_EQ(TripsOf(loop), Count(3));
  }
}

// As TensorFlow's exporter compares: in float32, which knows no integer between 2^24 and 2^24 + 2.
TEST(TripCount, CountersComparedAsReals) {
  for (const auto& [end, trips] : {std::pair{7, 7}, {(1 << 24) + 1, 1 << 24}}) {
    Looping loop(kMax);
    loop.Constant("one", 1).Constant("end", end);
    loop.body().Node("Add", {"k", "one"}, {"k2"});
    SetInt(loop.body().AddNode("Cast", {"k2"}, {"real"}), "to", onnx::TensorProto::FLOAT);
    SetInt(loop.body().AddNode("Cast", {"end"}, {"end_real"}), "to", onnx::TensorProto::FLOAT);
    loop.body().Node("Less", {"real", "end_real"}, {"go"});
    EXPECT_EQ(TripsOf(loop), Count(trips));
  }
}

// No counter with a fixed step: followed by its values, 1, 2, 4, ... 128.
TEST(TripCount, WhatIsNoCounterIsFollowed) {
  Looping loop(kMax, 1);
  loop.Constant("two", 2).Constant("end", 100);
  loop.body().Node("Mul", {"k", "two"}, {"k2"}).Node("Less", {"k2", "end"}, {"go"});
  EXPECT_EQ(TripsOf(loop), Count(7));
}

TEST(TripCount, IsNotBoundByWhatCanBeFollowed) {
  const std::int64_t trips = std::int64_t{1} << 40;
  Looping loop(kMax);
  const InferredModel model = InferWith(loop.WhileBelow(1, trips).Model());
  EXPECT_EQ(TripsOf(model), Count(trips));
  EXPECT_EQ(model.nodes.size(), 4U) << "one row per node";
}

// Only the run knows x; the counter says when it ends at the latest.
TEST(TripCount, AConditionThatIsPartlyKnownIsAnUpperBound) {
  for (const bool open_start : {false, true}) {
    Looping loop(std::nullopt);
    if (open_start) loop.OpenStart();
    loop.Constant("one", 1).Constant("twenty", 20);
    SmallModel& body = loop.body();
    SetInt(body.AddNode("ReduceSum", {"x2"}, {"sum"}), "keepdims", 0);
    SetInt(body.AddNode("Cast", {"twenty"}, {"most"}), "to", onnx::TensorProto::FLOAT);
    body.Node("Less", {"sum", "most"}, {"a"}).Node("Add", {"k", "one"}, {"k2"});
    body.Node("Less", {"k2", "twenty"}, {"b"}).Node("And", {"a", "b"}, {"go"});
    const SmallModel model = loop.Model();
    const InferredModel most = InferWith(model);
    EXPECT_EQ(TripsOf(most), Count(20));
    EXPECT_TRUE(NodeOf(most, "n_y").upper_bound);
    EXPECT_TRUE(NodeOf(most, "n_y/n_x2").upper_bound);
    EXPECT_THAT(NodeOf(most, "n_y").cost.note, HasSubstr("--trips 'n_y=20'"));
    const InferredModel bound = InferWith(model, "n_y=3");
    EXPECT_EQ(TripsOf(bound), Count(3));
    EXPECT_FALSE(NodeOf(bound, "n_y/n_x2").upper_bound);
    EXPECT_EQ(TripsOf(InferWith(model, "n_y=30")), Count(20)) << "no more than it can";
  }
}

TEST(TripCount, AnOpenStartMayMeanNoIteration) {
  Looping loop(kMax);
  const InferredModel model = InferWith(loop.OpenStart().WhileBelow(1, 7).Model());
  EXPECT_EQ(TripsOf(model), Count(7));
  EXPECT_TRUE(NodeOf(model, "n_y/n_x2").upper_bound);
}

// A limit that is the size of what NonZero finds: at most all 16 elements of x.
TEST(TripCount, ALimitFromAnUpperBoundIsOne) {
  SmallModel body;
  body.Input("i", {}, onnx::TensorProto::INT64).Input("c", {}, onnx::TensorProto::BOOL);
  body.Input("h", {2, 8}).Node("Identity", {"c"}, {"go"}).Node("MatMul", {"h", "w"}, {"h2"});
  body.Output("go").Output("h2");
  SmallModel model;
  model.Input("x", {2, 8}).Weight("w", {8, 8}).Scalar("one", 1);
  model.Node("NonZero", {"x"}, {"found"}).Node("Shape", {"found"}, {"shape"});
  model.Node("Gather", {"shape", "one"}, {"n"});
  SetGraph(model.AddNode("Loop", {"n", "", "x"}, {"y"}), "body", body);
  model.Output("y");
  const InferredModel most = InferWith(model);
  EXPECT_EQ(TripsOf(most), Count(16));
  EXPECT_TRUE(NodeOf(most, "n_y/n_h2").upper_bound);
  const InferredModel bound = InferWith(model, "n_y=5");
  EXPECT_EQ(TripsOf(bound), Count(5));
  EXPECT_FALSE(NodeOf(bound, "n_y/n_h2").upper_bound);
}

TEST(TripCount, ASuggestionCanBePasted) {
  EXPECT_EQ(SuggestTrips("a/Loop", 3), "--trips 'a/Loop=3'");
  EXPECT_EQ(SuggestTrips("it's", 3), "--trips 'it'\\''s=3'");
  EXPECT_EQ(SuggestTrips("a\nb", 3), "--trips 3") << "a name that cannot be printed";
}

}  // namespace
}  // namespace dlcost
