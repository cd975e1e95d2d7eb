#include "estimator/infer/expression.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "estimator/core/shape.h"

namespace dlcost {
namespace {

class ExpressionParser {
 public:
  ExpressionParser(const std::string& text, const Expression::Names& names)
      : text_(text), names_(names) {}

  Count Whole() {
    const Count value = Sum();
    Skip();
    if (at_ != text_.size()) Fail("unexpected '" + std::string(1, text_[at_]) + "'");
    return value;
  }

 private:
  [[noreturn]] void Fail(const std::string& what) const {
    throw Error("in '{}' at {}: {}", Printable(text_), at_ + 1, what);
  }

  void Skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  bool Accept(char c) {
    Skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void Expect(char c) {
    if (!Accept(c)) Fail(std::string("'") + c + "' is missing");
  }

  Count Sum() {
    Count value = Product();
    while (true) {
      if (Accept('+')) {
        value += Product();
      } else if (Accept('-')) {
        value -= Product();
      } else {
        return value;
      }
    }
  }

  Count Product() {
    Count value = Factor();
    while (true) {
      if (Accept('*')) {
        value *= Factor();
      } else if (Accept('/')) {
        value = Floor(value, Divisor());
      } else if (Accept('%')) {
        const Count divisor = Divisor();
        value -= Floor(value, divisor) * divisor;
      } else {
        return value;
      }
    }
  }

  Count Divisor() {
    const Count divisor = Factor();
    if (divisor == Count(0)) Fail("division by zero");
    return divisor;
  }

  static Count Floor(Count a, Count b) {
    const Count quotient = a / b;
    const bool inexact = quotient * b != a;
    return inexact && (a < Count(0)) != (b < Count(0)) ? quotient - 1 : quotient;
  }

  Count Factor() {
    // Deep nesting in a file must not end the program.
    if (++depth_ > 100) Fail("too deeply nested");
    const Count value = Unnested();
    --depth_;
    return value;
  }

  Count Unnested() {
    if (Accept('-')) return Count(0) - Factor();
    if (Accept('(')) {
      const Count value = Sum();
      Expect(')');
      return value;
    }
    Skip();
    if (at_ >= text_.size()) Fail("a number or a name is missing");
    if (std::isdigit(static_cast<unsigned char>(text_[at_])) != 0) return Number();
    return Name();
  }

  Count Number() {
    std::int64_t value = 0;
    const char* begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error != std::errc()) Fail("a number is too large");
    at_ += static_cast<std::size_t>(end - begin);
    return value;
  }

  std::string Word() {
    Skip();
    const std::size_t begin = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_')) {
      ++at_;
    }
    if (at_ == begin) Fail("a number or a name is missing");
    return text_.substr(begin, at_ - begin);
  }

  Count Name() {
    const std::string word = Word();
    if (Accept('[')) {
      const Shape shape(names_.tensor(word));
      const Count axis = Sum();
      Expect(']');
      return shape.At(axis.value());
    }
    if (!Accept('(')) return names_.number(word);
    if (word == "elements" || word == "rank") {
      const Shape shape(names_.tensor(Word()));
      Expect(')');
      return word == "rank" ? Count(shape.Rank()) : shape.Elements();
    }
    const Count a = Sum();
    Expect(',');
    const Count b = Sum();
    Expect(')');
    if (word == "min") return std::min(a, b);
    if (word == "max") return std::max(a, b);
    if (word != "ceil_div") Fail("there is no function '" + word + "'");
    if (b <= Count(0) || a < Count(0)) Fail("ceil_div of a negative number or by none");
    return CeilDiv(a, b);
  }

  const std::string& text_;
  const Expression::Names& names_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Count Expression::Evaluate(const Names& names) const {
  return ExpressionParser(text_, names).Whole();
}

}  // namespace dlcost
