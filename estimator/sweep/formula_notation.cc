#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "estimator/sweep/formula_render.h"

namespace dlcost {
namespace {

std::string Grouped(const std::string& digits, std::string_view separator) {
  std::string text;
  const std::size_t sign = digits.starts_with('-') ? 1 : 0;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > sign && (digits.size() - i) % 3 == 0) text += separator;
    text += digits[i];
  }
  return text;
}

std::string Superscript(int power) {
  static constexpr const char* kDigits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string text;
  for (const char digit : std::to_string(power)) text += kDigits[digit - '0'];
  return text;
}

std::string VariableIn(const std::string& name, Notation notation) {
  if (notation == Notation::kText) return name;
  if (notation != Notation::kLatex) return Identifier(name);
  std::string escaped;
  for (const char c : name) {
    if (std::string_view("_%&#${}").find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return "\\mathit{" + escaped + "}";
}

std::string PowerOf(const std::string& name, int power, Notation notation) {
  const std::string variable = VariableIn(name, notation);
  if (power == 1) return variable;
  if (notation == Notation::kText) return variable + Superscript(power);
  if (notation == Notation::kLatex) return fmt::format("{}^{{{}}}", variable, power);
  if (notation == Notation::kPython) return fmt::format("{}**{}", variable, power);
  return fmt::format(
      "{}", fmt::join(std::vector<std::string>(static_cast<std::size_t>(power), variable), " * "));
}

std::string_view TimesSign(Notation notation) {
  if (notation == Notation::kText) return "·";
  if (notation == Notation::kLatex) return "\\,";
  return " * ";
}

std::string Product(const Powers& powers, const std::vector<std::string>& variables,
                    Notation notation) {
  std::vector<std::string> factors;
  for (std::size_t v = 0; v < powers.size(); ++v) {
    if (powers[v] > 0) factors.push_back(PowerOf(variables[v], powers[v], notation));
  }
  return fmt::format("{}", fmt::join(factors, TimesSign(notation)));
}

// Sum of terms with the signs between them.
std::string SumOf(const std::vector<std::pair<Powers, Rational>>& terms,
                  const std::vector<std::string>& variables, Notation notation) {
  std::string sum;
  for (const auto& [powers, coefficient] : terms) {
    const Rational size = abs(coefficient);
    if (sum.empty()) {
      sum += coefficient < 0 ? "-" : "";
    } else {
      sum += coefficient < 0 ? " - " : " + ";
    }
    const std::string product = Product(powers, variables, notation);
    if (product.empty()) {
      sum += WriteNumber(size, notation);
    } else if (size == 1) {
      sum += product;
    } else {
      sum += WriteNumber(size, notation);
      sum += TimesSign(notation);
      sum += product;
    }
  }
  return sum;
}

}  // namespace

std::string Identifier(const std::string& variable) {
  std::string name;
  for (const char c : variable) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
    if (plain) {
      name += c;
    } else if (!name.empty() && name.back() != '_') {
      name += '_';
    }
  }
  while (!name.empty() && name.back() == '_') name.pop_back();
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) != 0) name = "n" + name;
  return name;
}

std::string WriteNumber(const Rational& number, Notation notation) {
  const std::string above = number.get_num().get_str(), below = number.get_den().get_str();
  switch (notation) {
    case Notation::kText:
      return below == "1" ? Grouped(above, ",") : Grouped(above, ",") + "/" + Grouped(below, ",");
    case Notation::kLatex:
      return below == "1"
                 ? Grouped(above, "{,}")
                 : fmt::format("\\frac{{{}}}{{{}}}", Grouped(above, "{,}"), Grouped(below, "{,}"));
    default:
      return above;  // whoever writes code has taken the denominators out
  }
}

std::string Write(const Polynomial& polynomial, const std::vector<std::string>& variables,
                  Notation notation) {
  if (polynomial.IsZero()) return "0";
  const bool code = notation == Notation::kPython || notation == Notation::kCpp;
  mpz_class denominator = 1;
  if (code) {
    for (const auto& [powers, coefficient] : polynomial.terms()) {
      denominator = lcm(denominator, coefficient.get_den());
    }
  }
  const Powers common = CommonPowers(polynomial, variables.size());
  std::vector<std::pair<Powers, Rational>> terms;
  for (const auto& [powers, coefficient] : polynomial.terms()) {
    Powers rest = powers;
    for (std::size_t v = 0; v < rest.size(); ++v) rest[v] -= common[v];
    terms.emplace_back(std::move(rest), coefficient * denominator);
  }
  std::stable_sort(terms.begin(), terms.end(), [](const auto& a, const auto& b) {
    int left = 0, right = 0;
    for (const int power : a.first) left += power;
    for (const int power : b.first) right += power;
    return left < right;
  });
  std::string text;
  const std::string outside = Product(common, variables, notation);
  if (terms.size() == 1) {
    text = SumOf({{common, terms[0].second}}, variables, notation);
  } else if (outside.empty()) {
    text = SumOf(terms, variables, notation);
  } else {
    text = fmt::format("{}{}({})", outside, TimesSign(notation), SumOf(terms, variables, notation));
  }
  if (denominator == 1) return text;
  return fmt::format("({}) {} {}", text, notation == Notation::kPython ? "//" : "/",
                     denominator.get_str());
}

namespace {

std::string Function(std::string_view name, Notation notation) {
  if (notation == Notation::kLatex) return fmt::format("\\{}", name);
  if (notation == Notation::kCpp) return fmt::format("std::{}<std::int64_t>", name);
  return std::string(name);
}

}  // namespace

std::string Write(const FormulaSum& sum, const std::vector<std::string>& variables,
                  Notation notation) {
  std::string text =
      sum.straight.IsZero() && !sum.bent.empty() ? "" : Write(sum.straight, variables, notation);
  for (const BentPart& part : sum.bent) {
    const Rational times = abs(part.times);
    if (!text.empty()) text += part.times < 0 ? " - " : " + ";
    if (text.empty() && part.times < 0) text += "-";
    if (times != 1) {
      text += WriteNumber(times, notation);
      text += TimesSign(notation);
    }
    std::vector<std::string> pieces;
    for (const Polynomial& piece : part.beyond) pieces.push_back(Write(piece, variables, notation));
    const bool several = notation == Notation::kCpp && pieces.size() > 1;
    text += fmt::format("{}({}0, {}{})", Function(part.smallest ? "min" : "max", notation),
                        several ? "{" : "", fmt::join(pieces, ", "), several ? "}" : "");
  }
  return text;
}

std::string Write(const FormulaQuantity& quantity, const std::vector<std::string>& variables,
                  Notation notation) {
  std::string text = Write(quantity.total, variables, notation);
  if (quantity.or_larger.empty()) return text;
  for (const FormulaSum& other : quantity.or_larger) {
    text += ", " + Write(other, variables, notation);
  }
  const bool cpp = notation == Notation::kCpp;
  return fmt::format("{}({}{}{})", Function("max", notation), cpp ? "{" : "", text, cpp ? "}" : "");
}

}  // namespace dlcost
