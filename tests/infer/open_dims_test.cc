#include "estimator/infer/open_dims.h"

#include <gtest/gtest.h>

namespace dlcost {
namespace {

TEST(OpenDims, NamesThatSayNothing) {
  for (const char* name :
       {"", "?", "-1", "None", "none", "dynamic", "unknown", "*", "??", "null"}) {
    EXPECT_EQ(ClassifyDimName(name), DimName::kNone) << name;
  }
}

TEST(OpenDims, NumbersThatExportersCountUp) {
  for (const char* name : {"unk__12", "DynamicDimension.1", "x_dynamic_axes_1", "unk_3"}) {
    EXPECT_EQ(ClassifyDimName(name), DimName::kPerAxis) << name;
  }
  for (const char* name : {"s0", "s77", "d1", "dim_2"}) {
    EXPECT_EQ(ClassifyDimName(name), DimName::kGenerated) << name;
  }
}

TEST(OpenDims, NamesOfBatches) {
  for (const char* name :
       {"batch", "batch_size", "Batch", "decoder_batch_size", "bsz", "minibatch"}) {
    EXPECT_EQ(ClassifyDimName(name), DimName::kBatch) << name;
  }
  for (const char* name : {"N", "B", "bs"}) {
    EXPECT_EQ(ClassifyDimName(name), DimName::kInitial) << name;
  }
}

TEST(OpenDims, NamesOfOtherSizes) {
  for (const char* name : {"num_nodes", "num_edges", "num_atoms", "n_points", "num_graphs", "seq",
                           "sequence_length", "time", "frames", "nodes_in_batch", "batch_seq_len",
                           "batch_size * num_heads", "batch*8", "length", "images", "M"}) {
    EXPECT_EQ(ClassifyDimName(name), DimName::kOther) << name;
  }
}

OpenDim DimOf(const std::string& key, std::vector<OpenDim::Place> places) {
  return {key, ClassifyDimName(key), std::move(places)};
}

TEST(OpenDims, ABatchComesFirst) {
  using Names = std::set<std::string>;
  EXPECT_EQ(BatchDims({DimOf("N", {{"x", 0, 2}})}), Names{"N"});
  EXPECT_EQ(BatchDims({DimOf("N", {{"x", 1, 2}})}), Names{});
  EXPECT_EQ(BatchDims({DimOf("batch", {{"state", 1, 3}})}), Names{"batch"});
  EXPECT_EQ(BatchDims({DimOf("unk__1", {{"x", 0, 4}}), DimOf("unk__2", {{"x", 2, 4}})}),
            Names{"unk__1"});
  EXPECT_EQ(BatchDims({DimOf("unk__1", {{"x", 0, 1}})}), Names{}) << "a vector may be a signal";
}

TEST(OpenDims, TwoNumberedSizesThatComeFirstAreNoBatch) {
  using Names = std::set<std::string>;
  const OpenDim tokens = DimOf("s1", {{"ids", 1, 2}});
  EXPECT_EQ(BatchDims({DimOf("s0", {{"ids", 0, 2}}), tokens}), Names{"s0"});
  EXPECT_EQ(BatchDims({DimOf("s0", {{"nodes", 0, 2}}), DimOf("s1", {{"edges", 0, 2}})}), Names{});
  EXPECT_EQ(BatchDims({DimOf("batch", {{"a", 0, 2}}), DimOf("s1", {{"edges", 0, 2}})}),
            Names{"batch"});
}

std::optional<std::int64_t> ValueOfSymbol(const std::string& symbol) {
  return EvaluateSymbol(symbol, [](const std::string& name) -> std::optional<std::int64_t> {
    if (name == "past") return 100;
    if (name == "seq") return 7;
    return std::nullopt;
  });
}

TEST(OpenDims, SymbolsThatAreExpressions) {
  EXPECT_EQ(ValueOfSymbol("past + seq"), 107);
  EXPECT_EQ(ValueOfSymbol("2*seq"), 14);
  EXPECT_EQ(ValueOfSymbol("seq//2"), 3);
  EXPECT_EQ(ValueOfSymbol("floor(seq/2) + 1"), 4);
  EXPECT_EQ(ValueOfSymbol("Max(past, seq)"), 100);
  EXPECT_EQ(ValueOfSymbol("(past - 1)//seq"), 14);
  EXPECT_EQ(ValueOfSymbol("past + other"), std::nullopt);
  EXPECT_EQ(ValueOfSymbol("past"), std::nullopt) << "a name is no expression";
  EXPECT_EQ(ValueOfSymbol("seq +"), std::nullopt);
  EXPECT_EQ(PartsOf("past + seq"), (std::set<std::string>{"past", "seq"}));
  EXPECT_EQ(PartsOf("past"), std::set<std::string>{});
}

}  // namespace
}  // namespace dlcost
