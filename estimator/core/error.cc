#include "estimator/core/error.h"

namespace dlcost {

std::string Printable(const std::string& name, std::size_t max_length) {
  std::string out;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  if (out.size() > max_length) {
    const std::size_t half = (max_length - 3) / 2;
    out = out.substr(0, half) + "..." + out.substr(out.size() - half);
  }
  return out;
}

}  // namespace dlcost
