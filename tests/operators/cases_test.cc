#include <gtest/gtest.h>

#include <algorithm>

#include "models/operators/case.h"
#include "models/operators/registry.h"

namespace dlcost {
namespace {

// Every worked example of the operator table holds to the digit.
TEST(Operators, CasesHold) {
  for (const std::span<const OpDef> family : OperatorFamilies()) {
    for (const OpDef& def : family) {
      for (const OpCase& op_case : def.cases) {
        SCOPED_TRACE(std::string(def.domain) + ":" + std::string(def.name) + ", " +
                     std::string(op_case.what));
        try {
          const CaseResult result = RunCase(def, op_case);
          const bool with_values = op_case.outputs.find('{') != std::string_view::npos;
          EXPECT_EQ(OutputsText(result.outputs, with_values), op_case.outputs);
          EXPECT_EQ(result.cost.work.macs().value(), op_case.macs);
          EXPECT_EQ(CountFlops(result.cost.work, Conventions().front()).value(), op_case.flops);
          EXPECT_EQ(result.cost.BytesRead().value(), op_case.bytes_read);
          EXPECT_EQ(result.cost.BytesWritten().value(), op_case.bytes_written);
        } catch (const std::exception& error) {
          ADD_FAILURE() << error.what();
        }
      }
    }
  }
}

// What a kernel of an operator does is told by nests; their multiply-accumulates are the
// operator's.
TEST(Operators, NestsAddUpToTheMultiplyAccumulates) {
  for (const std::span<const OpDef> family : OperatorFamilies()) {
    for (const OpDef& def : family) {
      for (const OpCase& op_case : def.cases) {
        const OpCost cost = RunCase(def, op_case).cost;
        if (!IsProduct(cost.nest)) continue;
        Count macs = cost.parts.empty() ? MacsOf(cost.nest) : Count(0);
        for (const CostPart& part : cost.parts) macs += MacsOf(part.nest);
        EXPECT_EQ(macs, cost.work.macs().count())
            << def.domain << ":" << def.name << ", " << op_case.what;
      }
    }
  }
}

// A layer of experts reads the packed weights and scales of those that tokens take: of 4 x 16 x 8
// and 4 x 8 x 16 weights in 4 bits all, with a scale of two bytes for each row; of 4 x 16 x 8
// floats three experts'.
TEST(Operators, LayersOfExpertsTellWhatTheyRead) {
  const auto parts = [](std::string_view name, std::size_t which) {
    const OpDef* def = FindOperator("com.microsoft", name);
    return RunCase(*def, def->cases[which]).cost.parts;
  };
  const std::vector<CostPart> narrow = parts("QMoE", 0), wide = parts("MoE", 1);
  ASSERT_EQ(narrow.size(), 2u);
  EXPECT_EQ(narrow[0].stored, Bytes(4 * 16 * 4 + 4 * 16 * 2));
  EXPECT_EQ(narrow[1].stored, Bytes(4 * 8 * 8 + 4 * 8 * 2));
  EXPECT_EQ(narrow[0].stored_bits, 4);
  ASSERT_EQ(wide.size(), 2u);
  EXPECT_EQ(wide[0].stored, Bytes(3 * 16 * 8 * 4));
  EXPECT_EQ(wide[0].stored_bits, 32);
}

// A definition is complete: nothing is zero by default.
TEST(Operators, DefinitionsAreComplete) {
  for (const std::span<const OpDef> family : OperatorFamilies()) {
    for (const OpDef& def : family) {
      SCOPED_TRACE(std::string(def.name));
      EXPECT_FALSE(def.formula.empty());
      EXPECT_EQ(FindOperator(def.domain, def.name), &def) << "defined twice";
      if (def.control == ControlFlow::kNone) {
        EXPECT_NE(def.infer, nullptr);
        EXPECT_NE(def.cost, nullptr);
        EXPECT_FALSE(def.cases.empty());
      }
      EXPECT_TRUE(std::is_sorted(def.since.begin(), def.since.end()));
    }
  }
}

}  // namespace
}  // namespace dlcost
