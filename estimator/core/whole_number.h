#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

namespace dlcost {

// The integer that `text` is, all of it, in base 10; nullopt where it is none, or does not fit.
template <typename Integer = std::int64_t>
std::optional<Integer> WholeNumber(std::string_view text) {
  Integer value = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  return error == std::errc() && end == last ? std::optional(value) : std::nullopt;
}

}  // namespace dlcost
