// A hash that is the same in every build and process, unlike std::hash.
#pragma once

#include <cstdint>
#include <string_view>

namespace kgpu {

// FNV-1a, 64 bits. Does not resist deliberate collisions: for texts of our own.
// Source: draft-eastlake-fnv, section 2.
constexpr uint64_t StableHash(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  return hash;
}

}  // namespace kgpu
