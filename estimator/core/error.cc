#include "estimator/core/error.h"

#include "estimator/core/utf8.h"

namespace dlcost {

std::string Printable(const std::string& name, std::size_t max_length) {
  std::string out;
  for (std::size_t at = 0; at < name.size();) {
    const std::size_t size = CharacterAt(name, at);
    const auto byte = static_cast<unsigned char>(name[at]);
    if (size == 0 || byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
      ++at;
    } else {
      out.append(name, at, size);
      at += size;
    }
  }
  return CutInMiddle(out, max_length);
}

}  // namespace dlcost
