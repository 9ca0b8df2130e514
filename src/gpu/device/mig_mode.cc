#include "src/gpu/device/mig_mode.h"

#include <fmt/format.h>

namespace kgpu::device {

bool IsInMigMode(const Gpu& gpu) {
  return gpu.mig_mode && gpu.mig_mode->is_enabled;
}

bool IsWithoutMigDevices(const Gpu& gpu) {
  return IsInMigMode(gpu) && gpu.mig_devices.empty();
}

bool MigModeNeedsReset(const Gpu& gpu) {
  return gpu.architecture == "ampere";
}

std::string WithoutMigDevicesText(const Gpu& gpu) {
  return fmt::format(
      "in MIG mode without MIG devices, so no program can use it: create some (kgpu mig apply "
      "--gpu {0} --select all-balanced), turn MIG off (kgpu mig apply --gpu {0} --select "
      "all-disabled), or have them made for claims (mig: dynamic in the pool)",
      gpu.index);
}

}  // namespace kgpu::device
