// Amounts of memory as a type of their own, so that MiB and bytes are never mixed.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "src/platform/base/status.h"

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

// A quantity as Kubernetes writes memory: "40Gi", "79.5Gi", "512Mi", "80G", "1024". Units Ki, Mi,
// Gi, Ti, Pi (powers of 1024) and k, M, G, T, P (of 1000); parts of a byte are cut off.
// Errors: InvalidArgument naming the text and the units.
StatusOr<Bytes> ParseQuantity(std::string_view text);

// Formats the same amount so that ParseQuantity can read it back, in the largest binary unit that
// divides it exactly: "40Gi", "81559Mi", "12".
std::string FormatQuantity(Bytes bytes);

}  // namespace kgpu
