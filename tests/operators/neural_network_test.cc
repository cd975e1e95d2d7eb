#include <gtest/gtest.h>

#include "estimator/core/error.h"
#include "models/operators/attention_core.h"
#include "models/operators/case.h"
#include "models/operators/registry.h"

namespace dlcost {
namespace {

CaseResult RunOp(std::string_view domain, std::string_view name, const OpCase& op_case) {
  const OpDef* def = FindOperator(domain, name);
  if (def == nullptr) throw Error("no operator {}", name);
  return RunCase(*def, op_case);
}

// The text of the error that contradicting inputs give.
std::string ErrorOf(std::string_view name, const OpCase& op_case) {
  try {
    RunOp("", name, op_case);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(NeuralNetworkErrors, SayWhatContradicts) {
  EXPECT_EQ(ErrorOf("MatMul", {.inputs = "f32[2,3] f32[4,5]", .outputs = "f32[2,5]"}),
            "the product contracts 3 elements of [2,3] with 4 of [4,5]");
  EXPECT_EQ(ErrorOf("Conv", {.inputs = "f32[1,3,8,8] f32[4,2,3,3]", .outputs = "f32[?]"}),
            "input [1,3,8,8] has 3 channels, the weight [4,2,3,3] with group 1 wants 2");
  EXPECT_EQ(ErrorOf("Conv", {.attributes = "auto_pad='SAME'",
                             .inputs = "f32[1,2,8,8] f32[4,2,3,3]",
                             .outputs = "f32[?]"}),
            "auto_pad 'SAME' is not one of NOTSET, SAME_UPPER, SAME_LOWER, VALID");
  EXPECT_EQ(ErrorOf("LSTM", {.inputs = "f32[7,2,3] f32[1,20,3] f32[1,16,5]", .outputs = "f32[?]"}),
            "input 2 has the shape [1,16,5] where [1,20,5] is required");
  EXPECT_EQ(ErrorOf("Einsum", {.attributes = "equation='ij,jk->iz'",
                               .inputs = "f32[2,3] f32[3,4]",
                               .outputs = "f32[?]"}),
            "the output of 'ij,jk->iz' has a label that no input has");
  EXPECT_EQ(ErrorOf("Attention",
                    {.inputs = "f32[1,3,2,4] f32[1,2,2,4] f32[1,2,2,4]", .outputs = "f32[?]"}),
            "3 query, 2 key and 2 value heads");
  EXPECT_EQ(ErrorOf("GroupNormalization", {.attributes = "num_groups=3",
                                           .inputs = "f32[1,4,2] f32[4] f32[4]",
                                           .outputs = "f32[?]"}),
            "4 channels do not divide into 3 groups");
}

// Padding positions of 3x3 on 4x4, padded by 1: 100 of 144 taps fall on data.
TEST(ValidMacs, LeavePaddingOut) {
  const CaseResult conv = RunOp("", "Conv",
                                {.attributes = "pads=[1,1,1,1]",
                                 .inputs = "f32[1,1,4,4] f32[1,1,3,3]",
                                 .outputs = "f32[1,1,4,4]"});
  EXPECT_EQ(conv.cost.work.macs(), Macs(144));
  EXPECT_EQ(conv.cost.valid_macs, Macs(100));
  // The transposed one, cut by its padding, scatters to the same places.
  const CaseResult transposed = RunOp("", "ConvTranspose",
                                      {.attributes = "pads=[1,1,1,1]",
                                       .inputs = "f32[1,1,4,4] f32[1,1,3,3]",
                                       .outputs = "f32[1,1,4,4]"});
  EXPECT_EQ(transposed.cost.work.macs(), Macs(144));
  EXPECT_EQ(transposed.cost.valid_macs, Macs(100));
}

TEST(ValidMacs, LeaveMaskedScoresOut) {
  // 4 + 3 + 2 + 1 scores below the diagonal, 2 + 3 MACs each.
  const CaseResult causal = RunOp("", "Attention",
                                  {.attributes = "is_causal=1",
                                   .inputs = "f32[1,1,4,2] f32[1,1,4,2] f32[1,1,4,3]",
                                   .outputs = "f32[1,1,4,3]"});
  EXPECT_EQ(causal.cost.work.macs(), Macs(80));
  EXPECT_EQ(causal.cost.valid_macs, Macs(50));
}

TEST(ValidScores, CountsWindowsByHand) {
  EXPECT_EQ(ValidScores(4, 4, 0, -1, 0), Count(10));  // causal
  EXPECT_EQ(ValidScores(1, 8, 7, -1, 0), Count(8));   // the newest token sees all
  EXPECT_EQ(ValidScores(4, 6, 0, 2, 1), Count(2 + 3 + 4 + 4));
  EXPECT_EQ(ValidScores(4, 2, -2, -1, 0), Count(0 + 0 + 1 + 2));  // more queries than keys
  EXPECT_EQ(ValidScores(3, 5, 0, -1, -1), Count(15));             // no mask
  // Closed form: a length that no loop would finish.
  EXPECT_EQ(ValidScores(1'000'000'000, 1'000'000'000, 0, 0, 0), Count(1'000'000'000));
}

// Weights of a product are read once, whatever the batch; the nest folds the batch into its rows.
TEST(MatMulNest, FoldsTheBatchOfASharedWeight) {
  const CaseResult result =
      RunOp("", "MatMul", {.inputs = "f32[8,16,4] w:f32[4,5]", .outputs = "f32[8,16,5]"});
  const auto& nest = std::get<GemmNest>(result.cost.nest);
  EXPECT_EQ(nest.batch, Count(1));
  EXPECT_EQ(nest.m, Count(128));
  EXPECT_TRUE(nest.b_is_weight);
}

}  // namespace
}  // namespace dlcost
