#pragma once

#include <string>
#include <vector>

#include "estimator/sweep/formula.h"

namespace dlcost {

// How a polynomial is written.
enum class Notation {
  kText,    // batch·(62,984,192·seq + 18,432·seq²)
  kLatex,   // \mathit{batch}\,(62{,}984{,}192\,\mathit{seq} + ...)
  kPython,  // batch*(62984192*seq + 18432*seq**2), whole numbers, exact
  kCpp,     // the same for 64-bit integers
};

// A polynomial with what all terms share before the bracket, lower powers first.
std::string Write(const Polynomial& polynomial, const std::vector<std::string>& variables,
                  Notation notation);
// The same with what bends: "... + min(0, 93,763,584 - 3,072·batch·seq)".
std::string Write(const FormulaSum& sum, const std::vector<std::string>& variables,
                  Notation notation);
// The largest of a quantity's sums.
std::string Write(const FormulaQuantity& quantity, const std::vector<std::string>& variables,
                  Notation notation);
// A rational for people: "18,432", "3,969/64".
std::string WriteNumber(const Rational& number, Notation notation);
// A name that is an identifier: "x[2]" is x_2.
std::string Identifier(const std::string& variable);

std::string FormulaText(const Formula& formula, bool by_scope);
std::string FormulaJson(const Formula& formula);
std::string FormulaLatex(const Formula& formula);
// Functions that can be pasted, one for each quantity.
std::string FormulaPython(const Formula& formula);
std::string FormulaCpp(const Formula& formula);

}  // namespace dlcost
