#include "models/networks/options.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "estimator/core/error.h"
#include "estimator/core/spelling.h"

namespace dlcost::networks {

Options::Options(const NetworkInfo& info, const NetworkOptions& given) : network_(info.name) {
  std::vector<std::string> names;
  for (const NetworkOption& option : info.options) {
    values_[option.name] = option.default_value;
    names.push_back(option.name);
  }
  for (const auto& [name, value] : given) {
    const auto found = values_.find(name);
    if (found == values_.end()) {
      throw Error("network {}: no option '{}'{}; options: {}", network_, Printable(name),
                  DidYouMean(name, names),
                  names.empty() ? "none" : fmt::to_string(fmt::join(names, ", ")));
    }
    found->second = value;
  }
}

std::int64_t Options::Size(const std::string& name) const {
  constexpr std::int64_t kLargest = 1 << 20;
  const std::string& text = Text(name);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1 || value > kLargest) {
    throw Error("network {}: {}={} is not a whole number from 1 to {}", network_, name,
                Printable(text), kLargest);
  }
  return value;
}

std::string Options::Choice(const std::string& name,
                            const std::vector<std::string>& choices) const {
  const std::string& text = Text(name);
  if (std::find(choices.begin(), choices.end(), text) == choices.end()) {
    throw Error("network {}: {}={} is not one of {}{}", network_, name, Printable(text),
                fmt::join(choices, ", "), DidYouMean(text, choices));
  }
  return text;
}

DType Options::Type() const { return *ParseDType(Choice("dtype", {"f32", "f16", "bf16"})); }

int Options::Opset(int standard) const {
  constexpr int kFirstWithBfloat16 = 22;
  return Type() == DType::kBfloat16 ? std::max(standard, kFirstWithBfloat16) : standard;
}

}  // namespace dlcost::networks
