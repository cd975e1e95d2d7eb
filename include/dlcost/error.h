#pragma once

#include <stdexcept>
#include <string>

namespace dlcost::api {

// The one exception of this interface: a file that is no model, a size that is left open, a device
// that nobody knows. what() is one line: what is wrong, where (file, node, line), what to do, and
// the nearest spelling of a name. Besides it, only std::bad_alloc is thrown.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& line) : std::runtime_error(line) {}
};

}  // namespace dlcost::api
