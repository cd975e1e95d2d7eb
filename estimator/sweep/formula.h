#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/sweep/polynomial.h"
#include "estimator/sweep/region.h"
#include "estimator/sweep/variables.h"

namespace dlcost {

inline constexpr std::string_view kFormulaSchema = "dlcost.formula/1";

// One summand of a quantity that bends: the smallest (or largest) of 0 and these.
struct BentPart {
  std::vector<Polynomial> beyond;
  bool smallest = true;
  Rational times = 1;

  Rational At(const Point& point) const;
  friend bool operator==(const BentPart&, const BentPart&) = default;
};

// A polynomial and what bends.
struct FormulaSum {
  Polynomial straight;
  std::vector<BentPart> bent;

  Rational At(const Point& point) const;
  friend bool operator==(const FormulaSum&, const FormulaSum&) = default;
};

// What one operator or scope adds to a quantity.
struct FormulaPart {
  std::string name;
  FormulaSum sum;
  std::map<Powers, std::int64_t> nodes;  // that have a term of these powers
};

// One quantity of a model as a function of its sizes.
struct FormulaQuantity {
  std::string key;    // "macs", "flops", "work.exp", "bytes.default", "parameters", ...
  std::string title;  // for people
  CountFamily family = CountFamily::kNodes;
  FormulaSum total;
  // The quantity is the largest of these and `total`: bytes that live at different moments.
  std::vector<FormulaSum> or_larger;
  std::vector<FormulaPart> by_op, by_scope;  // largest total at the base first
  std::vector<std::string> none;             // nodes whose part follows no polynomial: no formula

  bool known() const { return none.empty(); }
  // Throws Error unless known(), or for a point at which it is no integer.
  std::int64_t At(const Point& point) const;
};

// "seq^2 passes seq at 3,417.1".
struct Crossing {
  std::string quantity;  // key
  std::size_t variable = 0;
  int higher = 2, lower = 1;  // powers of the variable
  Rational ratio;  // of their coefficients: variable^(higher - lower) where they are equal
  double at = 0;
};

struct Formula {
  std::string path, name;
  std::string convention;
  std::vector<std::string> variables;
  CountRegion region;
  std::vector<FormulaQuantity> quantities;
  std::vector<Crossing> crossings;
  std::vector<std::string> notes;  // of the model at the base

  const FormulaQuantity& Of(std::string_view key) const;  // throws Error
  // Whether a quantity's formula holds at the point, as far as the ends were looked for.
  bool Holds(const FormulaQuantity& quantity, const Point& point) const {
    return quantity.known() && region.Contains(point, quantity.family);
  }
};

// A model at a point. Throws Error where it takes no such sizes.
using ModelAt = std::function<InferredModel(const Point&)>;

struct FormulaOptions {
  std::string convention = "dlcost";
  PlanOptions plan;  // its fusion is not looked at: all levels are told
  std::size_t scope_depth = 2;
  RegionOptions region;
  // A base that turns out to lie in a narrow region of small sizes moves to larger ones.
  bool may_move = false;
  // The same model with notes on what is unknown, at the base alone: to look for them at every size
  // takes many times as long as to count. Null: without such notes.
  ModelAt advised_at;
};

// Every count of a model as polynomials, by interpolation over what inference says at sizes around
// `base`.
Formula FindFormula(const ModelAt& model_at, const std::vector<std::string>& variables,
                    const Point& base, const FormulaOptions& options);

// The powers that all terms share: what reading takes out of the bracket.
Powers CommonPowers(const Polynomial& polynomial, std::size_t variables);
// Where the powers of one variable are equal; only where the others cancel.
std::vector<Crossing> FindCrossings(const FormulaQuantity& quantity, std::size_t variables);

}  // namespace dlcost
