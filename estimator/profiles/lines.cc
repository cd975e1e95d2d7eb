#include "estimator/profiles/lines.h"

#include <cstring>

#include "estimator/core/error.h"

namespace dlcost {
namespace {
// The longest lines seen are C++ kernel names of a few thousand characters.
constexpr std::size_t kMaxLine = 16 << 20;
constexpr std::size_t kChunk = 1 << 18;
}  // namespace

bool LineReader::Next(std::string& line) {
  line.clear();
  while (true) {
    if (position_ == buffer_.size()) {
      buffer_.resize(kChunk);
      buffer_.resize(input_.Read(buffer_.data(), kChunk));
      position_ = 0;
      if (buffer_.empty()) break;
    }
    const char* begin = buffer_.data() + position_;
    const std::size_t rest = buffer_.size() - position_;
    const void* found = std::memchr(begin, '\n', rest);
    const std::size_t size =
        found ? static_cast<std::size_t>(static_cast<const char*>(found) - begin) + 1 : rest;
    line.append(begin, size);
    position_ += size;
    if (line.size() > kMaxLine) {
      throw Error("{}:{}: the line is longer than 16 MiB; no profiler writes such lines", name(),
                  number_ + 1);
    }
    if (found) break;
  }
  if (line.empty()) return false;
  if (line.ends_with("\r\n")) line.replace(line.size() - 2, 2, "\n");
  ++number_;
  return true;
}

}  // namespace dlcost
