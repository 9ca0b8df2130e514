// Amounts of memory as a type of their own, so that MiB and bytes are never mixed.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace kgpu {

struct Bytes {
  uint64_t count = 0;
  auto operator<=>(const Bytes&) const = default;
  uint64_t mebi() const { return count >> 20; }
};

constexpr Bytes MebiBytes(uint64_t mebi) {
  return Bytes{mebi << 20};
}
constexpr Bytes GibiBytes(uint64_t gibi) {
  return Bytes{gibi << 30};
}

// "80 GiB", "79.6 GiB", "512 MiB", "12 B": at most one decimal, binary units.
std::string FormatBytes(Bytes bytes);

}  // namespace kgpu
