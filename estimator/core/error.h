#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace dlcost {

// The one exception type. what() is one line: what is wrong, where (file, node, line), what to do.
// The command line prints it after "dlcost: " and exits with code 2.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message) : std::runtime_error(message) {}

  template <typename... Args>
  explicit Error(fmt::format_string<Args...> format, Args&&... args) requires(sizeof...(Args) > 0)
      : std::runtime_error(fmt::format(format, std::forward<Args>(args)...)) {}

  // The same error, told with the place where it happened in front: "conv1: negative dimension".
  Error At(const std::string& where) const { return Error(where + ": " + what()); }
};

// A name from an untrusted file, made fit for one line of a terminal: control characters escaped,
// long names cut in the middle.
std::string Printable(const std::string& name, std::size_t max_length = 120);

}  // namespace dlcost
