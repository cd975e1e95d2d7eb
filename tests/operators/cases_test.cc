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
