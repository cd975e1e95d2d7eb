#pragma once

#include <cstdint>
#include <string_view>

namespace dlcost {

// Mixes two hashes, order-dependent (the finalizer of SplitMix64 over a xor of the two).
inline std::uint64_t Combine(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = (a * 0x9e3779b97f4a7c15u) ^ (b + 0x2545f4914f6cdd1du);
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9u;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// FNV-1a, then mixed: the same on every platform, unlike std::hash.
inline std::uint64_t HashText(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  }
  return Combine(hash, text.size());
}

}  // namespace dlcost
