#include "models/operators/elementwise.h"
#include "models/operators/families.h"

namespace dlcost {
namespace {

constexpr OpCase kCompareExample = {.what = "broadcasts a row",
                                    .inputs = "f32[8,64] f32[64]",
                                    .outputs = "bool[8,64]",
                                    .flops = 512,
                                    .bytes_read = 2304,
                                    .bytes_written = 512};

constexpr OpCase LogicExample(std::string_view outputs) {
  return {.what = "known values",
          .inputs = "bool[4]{0,0,1,1} bool[4]{0,1,0,1}",
          .outputs = outputs,
          .bytes_read = 8,
          .bytes_written = 4};
}

constexpr std::string_view kCompareFormula = "1 compare per element of the output";
constexpr std::string_view kLogicFormula = "1 logic operation (class integer) per element";

constexpr BinaryOp kLogicTable[] = {
    {.name = "Equal",
     .since = {1, 7, 11, 13, 19},
     .formula = kCompareFormula,
     .operations = {.compare = 1},
     .real = [](double a, double b) { return a == b ? 1.0 : 0.0; },
     .integer = [](std::int64_t a, std::int64_t b) -> MaybeInt { return a == b; },
     .example = kCompareExample,
     .output = DType::kBool},
    {.name = "Greater",
     .since = {1, 7, 9, 13},
     .formula = kCompareFormula,
     .operations = {.compare = 1},
     .real = [](double a, double b) { return a > b ? 1.0 : 0.0; },
     .integer = [](std::int64_t a, std::int64_t b) -> MaybeInt { return a > b; },
     .example = kCompareExample,
     .output = DType::kBool},
    {.name = "GreaterOrEqual",
     .since = {12, 16},
     .formula = kCompareFormula,
     .operations = {.compare = 1},
     .real = [](double a, double b) { return a >= b ? 1.0 : 0.0; },
     .integer = [](std::int64_t a, std::int64_t b) -> MaybeInt { return a >= b; },
     .example = kCompareExample,
     .output = DType::kBool},
    {.name = "Less",
     .since = {1, 7, 9, 13},
     .formula = kCompareFormula,
     .operations = {.compare = 1},
     .real = [](double a, double b) { return a < b ? 1.0 : 0.0; },
     .integer = [](std::int64_t a, std::int64_t b) -> MaybeInt { return a < b; },
     .example = kCompareExample,
     .output = DType::kBool},
    {.name = "LessOrEqual",
     .since = {12, 16},
     .formula = kCompareFormula,
     .operations = {.compare = 1},
     .real = [](double a, double b) { return a <= b ? 1.0 : 0.0; },
     .integer = [](std::int64_t a, std::int64_t b) -> MaybeInt { return a <= b; },
     .example = kCompareExample,
     .output = DType::kBool},
    {.name = "And",
     .since = {1, 7},
     .formula = kLogicFormula,
     .operations = {.integer = 1},
     .integer = [](std::int64_t a, std::int64_t b) -> MaybeInt { return a != 0 && b != 0; },
     .example = LogicExample("bool[4]{0,0,0,1}"),
     .output = DType::kBool},
    {.name = "Or",
     .since = {1, 7},
     .formula = kLogicFormula,
     .operations = {.integer = 1},
     .integer = [](std::int64_t a, std::int64_t b) -> MaybeInt { return a != 0 || b != 0; },
     .example = LogicExample("bool[4]{0,1,1,1}"),
     .output = DType::kBool},
    {.name = "Xor",
     .since = {1, 7},
     .formula = kLogicFormula,
     .operations = {.integer = 1},
     .integer = [](std::int64_t a, std::int64_t b) -> MaybeInt { return (a != 0) != (b != 0); },
     .example = LogicExample("bool[4]{0,1,1,0}"),
     .output = DType::kBool},
};

constexpr auto kLogicOps = MakeBinaryOps<kLogicTable>();

}  // namespace

std::span<const OpDef> LogicOps() { return kLogicOps; }

}  // namespace dlcost
