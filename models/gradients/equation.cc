#include "models/gradients/equation.h"

#include <algorithm>

#include "models/operators/op_context.h"

namespace dlcost {
namespace {

// `letters` in the place of the axes that "..." stands for, as many as there are, the last ones.
std::string Spelled(const std::string& term, std::size_t rank, const std::string& letters) {
  const std::size_t dots = term.find("...");
  if (dots == std::string::npos) return term;
  const std::size_t named = term.size() - 3;
  if (rank < named || rank - named > letters.size()) {
    throw Unresolved("the equation of an Einsum does not fit its operands");
  }
  return term.substr(0, dots) + letters.substr(letters.size() - (rank - named)) +
         term.substr(dots + 3);
}

}  // namespace

Equation SpelledEquation(const std::string& equation, const std::vector<Shape>& operands,
                         const Shape& result) {
  std::string text;
  for (const char c : equation) {
    if (c != ' ') text += c;
  }
  const std::size_t arrow = text.find("->");
  const std::string inputs = text.substr(0, arrow);
  Equation spelled;
  for (std::size_t start = 0; start <= inputs.size();) {
    const std::size_t comma = std::min(inputs.find(',', start), inputs.size());
    spelled.terms.push_back(inputs.substr(start, comma - start));
    start = comma + 1;
  }
  if (spelled.terms.size() != operands.size()) throw Unresolved("not a term for every operand");
  std::string unnamed, once;  // letters for "...", and the result that an equation implies
  for (const char letter : std::string("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")) {
    const auto times = std::count(inputs.begin(), inputs.end(), letter);
    if (times == 0) unnamed += letter;
    if (times == 1) once += letter;
  }
  const bool dots = inputs.find("...") != std::string::npos;
  spelled.result = arrow == std::string::npos ? (dots ? "..." : "") + once : text.substr(arrow + 2);
  spelled.result = Spelled(spelled.result, result.rank(), unnamed);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    spelled.terms[i] = Spelled(spelled.terms[i], operands[i].rank(), unnamed);
  }
  return spelled;
}

}  // namespace dlcost
