#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dlcost {

// Protobuf's numbers of variable length: seven bits a byte, the lowest first.
enum class Varint { kRead, kTruncated, kOverlong };

// Reads the number at `pos` of `in`, which ends at `end`, and moves `pos` behind it.
inline Varint ReadVarint(std::string_view in, std::size_t end, std::size_t& pos,
                         std::uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (pos >= end) return Varint::kTruncated;
    const auto byte = static_cast<unsigned char>(in[pos++]);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return Varint::kRead;
  }
  return Varint::kOverlong;
}

inline void WriteVarint(std::uint64_t value, std::string& out) {
  while (value >= 0x80) {
    out += static_cast<char>((value & 0x7f) | 0x80);
    value >>= 7;
  }
  out += static_cast<char>(value);
}

}  // namespace dlcost
