#include "src/gpu/device/snapshot.h"

#include <algorithm>
#include <array>

namespace kgpu::device {

std::string_view ToString(DriverState state) {
  static constexpr std::array<std::string_view, 10> kWords = {
      "Ready",           "Starting",  "Missing",      "NotLoaded",    "Nouveau",
      "VersionMismatch", "NoLibrary", "NoPermission", "Unresponsive", "Failed"};
  return kWords.at(static_cast<size_t>(state));
}

bool Snapshot::SameAs(const Snapshot& other) const {
  return driver == other.driver && gpus == other.gpus && unmanaged == other.unmanaged &&
         companions == other.companions && lost_gpus == other.lost_gpus;
}

const Gpu* Snapshot::FindGpu(const GpuUuid& uuid) const {
  const auto found = std::ranges::find(gpus, uuid, &Gpu::uuid);
  return found == gpus.end() ? nullptr : &*found;
}

}  // namespace kgpu::device
