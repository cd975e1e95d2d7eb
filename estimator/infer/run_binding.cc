#include "estimator/infer/run_binding.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "estimator/core/error.h"

namespace dlcost {
namespace {

[[noreturn]] void Reject(const std::string& text) {
  throw Error("--at '{}' is not of the form NODE=2x57, NODE=[1,2,3] or NODE=37%", Printable(text));
}

template <typename Number>
Number Parse(std::string_view part, const std::string& whole) {
  while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
  while (!part.empty() && part.back() == ' ') part.remove_suffix(1);
  Number number{};
  const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
  if (error != std::errc() || end != part.data() + part.size()) Reject(whole);
  return number;
}

template <typename Number>
std::vector<Number> ParseList(std::string_view list, char separator, const std::string& whole) {
  std::vector<Number> numbers;
  if (list.empty()) return numbers;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(separator, begin), list.size());
    numbers.push_back(Parse<Number>(list.substr(begin, end - begin), whole));
    begin = end + 1;
  }
  return numbers;
}

}  // namespace

RunBinding ParseRunBinding(const std::string& text) {
  const std::size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0) Reject(text);
  RunBinding binding;
  binding.text = text;
  binding.target = text.substr(0, equals);
  const std::string_view what = std::string_view(text).substr(equals + 1);
  if (what.starts_with('[') && what.ends_with(']')) {
    auto elements = ParseList<double>(what.substr(1, what.size() - 2), ',', text);
    for (const double element : elements) {
      if (!std::isfinite(element)) Reject(text);
    }
    binding.what = RunBinding::Values{std::move(elements)};
  } else if (what.ends_with('%')) {
    const auto percent = Parse<double>(what.substr(0, what.size() - 1), text);
    if (!(percent >= 0 && percent <= 100)) Reject(text);
    binding.what = RunBinding::Share{percent / 100};
  } else {
    auto sizes = ParseList<std::int64_t>(what, 'x', text);
    for (const std::int64_t size : sizes) {
      if (size < 0) Reject(text);
    }
    binding.what = Shape(std::move(sizes));
  }
  return binding;
}

}  // namespace dlcost
