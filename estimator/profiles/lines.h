#pragma once

#include <cstdint>
#include <string>

#include "estimator/profiles/input.h"

namespace dlcost {

// Lines of a text, with their line ends ("\r\n" becomes "\n"), in bounded memory.
class LineReader {
 public:
  explicit LineReader(Input& input) : input_(input) {}
  // The next line; false at the end. Throws for a line that no profiler would write.
  bool Next(std::string& line);
  std::int64_t number() const { return number_; }  // of the last line, from 1
  const std::string& name() const { return input_.name(); }

 private:
  Input& input_;
  std::string buffer_;
  std::size_t position_ = 0;
  std::int64_t number_ = 0;
};

}  // namespace dlcost
