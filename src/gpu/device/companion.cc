#include "src/gpu/device/companion.h"

#include <array>

namespace kgpu::device {

std::string_view ToString(Companion companion) {
  static constexpr std::array<std::string_view, 4> kWords = {"imex-channel", "gds", "gdrcopy",
                                                             "mofed"};
  return kWords.at(static_cast<size_t>(companion));
}

}  // namespace kgpu::device
