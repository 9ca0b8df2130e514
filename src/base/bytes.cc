#include "src/base/bytes.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

namespace kgpu {

std::string FormatBytes(Bytes bytes) {
  static constexpr std::array<std::string_view, 6> kUnits = {"B",   "KiB", "MiB",
                                                             "GiB", "TiB", "PiB"};
  uint64_t tenths = bytes.count * 10;
  size_t unit = 0;
  if (bytes.count > UINT64_MAX / 10) {
    tenths = (bytes.count >> 10) * 10;
    unit = 1;
  }
  while (tenths >= 10240 && unit + 1 < kUnits.size()) {
    tenths = (tenths + 512) / 1024;
    ++unit;
  }
  if (tenths % 10 == 0) {
    return fmt::format("{} {}", tenths / 10, kUnits.at(unit));
  }
  return fmt::format("{}.{} {}", tenths / 10, tenths % 10, kUnits.at(unit));
}

}  // namespace kgpu
