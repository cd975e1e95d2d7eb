#include "estimator/roofline/terms.h"

#include <algorithm>
#include <array>

namespace dlcost {

std::string_view Name(Combine combine) {
  constexpr std::array<std::string_view, 5> kNames = {"", "sum", "longest", "norm", "times"};
  return kNames[static_cast<std::size_t>(combine)];
}

double Combined(const std::vector<TimeTerm>& terms, std::size_t i) {
  const TimeTerm& whole = terms[i];
  if (whole.combine == Combine::kNone) return whole.value;
  std::vector<double> parts;
  for (std::size_t j = i + 1; j < terms.size() && terms[j].level > whole.level; ++j) {
    if (terms[j].level == whole.level + 1 && terms[j].IsTime()) parts.push_back(terms[j].value);
  }
  double sum = 0, longest = 0;
  for (const double part : parts) {
    sum += part;
    longest = std::max(longest, part);
  }
  switch (whole.combine) {
    case Combine::kLongest:
      return longest;
    case Combine::kNorm:
      parts.resize(3);
      return Overlap(whole.factor, parts[0], parts[1], parts[2]);
    case Combine::kTimes:
      return whole.factor * sum;
    default:
      return sum;
  }
}

TermWriter& TermWriter::Time(std::string what, double seconds, std::string reason) {
  terms_.push_back({.level = level_,
                    .what = std::move(what),
                    .value = seconds,
                    .unit = "s",
                    .reason = std::move(reason)});
  return *this;
}

TermWriter& TermWriter::TimeIfAny(std::string what, double seconds, std::string reason) {
  return seconds > 0 ? Time(std::move(what), seconds, std::move(reason)) : *this;
}

TermWriter TermWriter::Combined(TimeTerm term) {
  term.level = level_;
  term.unit = "s";
  terms_.push_back(std::move(term));
  return TermWriter(terms_, level_ + 1);
}

TermWriter TermWriter::Sum(std::string what, double seconds, std::string reason) {
  return Combined({.what = std::move(what),
                   .value = seconds,
                   .reason = std::move(reason),
                   .combine = Combine::kSum});
}

TermWriter TermWriter::Longest(std::string what, double seconds) {
  return Combined({.what = std::move(what),
                   .value = seconds,
                   .reason = "the longest of these, side by side",
                   .combine = Combine::kLongest});
}

TermWriter TermWriter::Norm(std::string what, double seconds, double exponent) {
  return Combined({.what = std::move(what),
                   .value = seconds,
                   .reason = fmt::format("the {:.3g}-norm of these, which overlap", exponent),
                   .combine = Combine::kNorm,
                   .factor = exponent});
}

TermWriter TermWriter::Times(std::string what, double seconds, double times, std::string reason) {
  return Combined({.what = std::move(what),
                   .value = seconds,
                   .reason = std::move(reason),
                   .combine = Combine::kTimes,
                   .factor = times});
}

TermWriter& TermWriter::Fact(std::string what, double value, std::string unit, std::string reason) {
  terms_.push_back({.level = level_,
                    .what = std::move(what),
                    .value = value,
                    .unit = std::move(unit),
                    .reason = std::move(reason)});
  return *this;
}

TermWriter& TermWriter::Text(std::string what, std::string text, std::string reason) {
  terms_.push_back({.level = level_,
                    .what = std::move(what),
                    .text = std::move(text),
                    .reason = std::move(reason)});
  return *this;
}

}  // namespace dlcost
