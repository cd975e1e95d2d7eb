#include "estimator/report/attribute_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>

namespace dlcost {
namespace {

// Long lists (values of a Constant, tree ensembles) tell a reader nothing.
constexpr std::size_t kLongestList = 16;

template <typename T>
std::string ListText(const std::vector<T>& items) {
  if (items.size() > kLongestList) return fmt::format("{} values", items.size());
  return fmt::to_string(fmt::join(items, ","));
}

struct ValueText {
  using Text = std::optional<std::string>;
  Text operator()(std::monostate) const { return {}; }
  Text operator()(std::int64_t value) const { return std::to_string(value); }
  // Attributes are 32-bit floats; six digits tell any two defaults apart and hide the rounding.
  Text operator()(double value) const { return fmt::format("{:.6g}", value); }
  Text operator()(const std::string& value) const { return Printable(value); }
  Text operator()(const std::vector<std::int64_t>& values) const { return ListText(values); }
  Text operator()(const std::vector<double>& values) const {
    if (values.size() > kLongestList) return fmt::format("{} values", values.size());
    std::vector<std::string> texts;
    for (const double value : values) texts.push_back(fmt::format("{:.6g}", value));
    return fmt::to_string(fmt::join(texts, ","));
  }
  Text operator()(const std::vector<std::string>& values) const {
    return Printable(ListText(values));
  }
  Text operator()(const StoredTensor& tensor) const {
    const std::string shape =
        tensor.shape.rank() == 0 ? "scalar" : fmt::to_string(fmt::join(tensor.shape.dims(), "x"));
    return fmt::format("{} {}", Name(tensor.dtype), shape);
  }
  Text operator()(const std::shared_ptr<Graph>&) const { return {}; }
  Text operator()(const std::vector<std::shared_ptr<Graph>>&) const { return {}; }
};

}  // namespace

std::vector<std::pair<std::string, std::string>> AttributeTexts(const Node& node) {
  std::vector<std::pair<std::string, std::string>> texts;
  for (const Attribute& attribute : node.attributes) {
    if (auto text = std::visit(ValueText{}, attribute.value)) {
      texts.push_back({attribute.name, std::move(*text)});
    }
  }
  return texts;
}

}  // namespace dlcost
