#include "estimator/report/operator_list.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "estimator/core/error.h"

namespace dlcost {
namespace {

TEST(OperatorList, TheDocumentedTableIsTheOneInTheCode) {
  std::ifstream file(DLCOST_SOURCE_DIR "/docs/operators.md");
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_TRUE(text.str() == OperatorsMarkdown())
      << "docs/operators.md is old: dlcost ops --format markdown -o docs/operators.md";
}

TEST(OperatorList, OneOperatorIsExplainedWithItsExamples) {
  const std::string text = OperatorText("Relu");
  EXPECT_EQ(text,
            "Relu (ai.onnx), versions 1, 6, 13, 14\n"
            "  max(x, 0): 1 compare per element\n"
            "\n"
            "6 elements\n"
            "  inputs      f32[2,3]\n"
            "  outputs     f32[2,3]\n"
            "  status      counted\n"
            "  work        compare 6 (f32)\n"
            "  MACs        0\n"
            "  FLOPs       6\n"
            "  read        24 B\n"
            "  written     24 B\n");
}

TEST(OperatorList, NamesAreChecked) {
  EXPECT_THROW(OperatorText("Rellu"), Error);
  EXPECT_THROW(OperatorListText("ai.onnx.mll"), Error);
  EXPECT_NE(OperatorListText("ai.onnx.ml").find("TreeEnsemble"), std::string::npos);
}

}  // namespace
}  // namespace dlcost
