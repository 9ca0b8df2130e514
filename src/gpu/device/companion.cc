#include "src/gpu/device/companion.h"

namespace kgpu::device {

std::string_view ToString(Companion companion) {
  switch (companion) {
    case Companion::kImexChannel:
      return "imex-channel";
    case Companion::kGds:
      return "gds";
    case Companion::kGdrcopy:
      return "gdrcopy";
    case Companion::kMofed:
      return "mofed";
  }
  return "unknown";
}

}  // namespace kgpu::device
