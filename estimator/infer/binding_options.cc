#include <algorithm>

#include "estimator/core/whole_number.h"
#include "estimator/infer/binding.h"

namespace dlcost {
namespace {

std::int64_t ParseSize(std::string_view text, const std::string& whole) {
  const std::optional<std::int64_t> size = WholeNumber(text);
  if (!size || *size < 0) {
    throw Error("'{}': '{}' is not a size", Printable(whole), Printable(std::string(text)));
  }
  return *size;
}

}  // namespace

void AddDimBinding(Bindings& bindings, const std::string& text) {
  const std::size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0) {
    throw Error("--dim '{}' is not of the form NAME=N", Printable(text));
  }
  bindings.dims[text.substr(0, equals)] =
      ParseSize(std::string_view(text).substr(equals + 1), "--dim " + text);
}

void AddInputBinding(Bindings& bindings, const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) {
    throw Error("--input '{}' is not of the form NAME:1x3x224x224", Printable(text));
  }
  std::vector<std::int64_t> dims;
  std::string_view rest = std::string_view(text).substr(colon + 1);
  while (!rest.empty()) {
    const std::size_t cross = std::min(rest.find_first_of("x,"), rest.size());
    dims.push_back(ParseSize(rest.substr(0, cross), "--input " + text));
    rest.remove_prefix(std::min(cross + 1, rest.size()));
  }
  bindings.inputs[text.substr(0, colon)] = std::move(dims);
}

void AddValueBinding(Bindings& bindings, const std::string& text) {
  const std::size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0) {
    throw Error("--value '{}' is not of the form NAME=1,2", Printable(text));
  }
  std::vector<std::int64_t> ints;
  std::string_view rest = std::string_view(text).substr(equals + 1);
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const bool negative = rest.front() == '-';
    const std::int64_t size =
        ParseSize(rest.substr(negative ? 1 : 0, comma - (negative ? 1 : 0)), "--value " + text);
    ints.push_back(negative ? -size : size);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  bindings.values[text.substr(0, equals)] = std::move(ints);
}

}  // namespace dlcost
