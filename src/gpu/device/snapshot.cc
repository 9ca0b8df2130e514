#include "src/gpu/device/snapshot.h"

#include <algorithm>

namespace kgpu::device {

std::string_view ToString(DriverState state) {
  switch (state) {
    case DriverState::kReady:
      return "Ready";
    case DriverState::kStarting:
      return "Starting";
    case DriverState::kMissing:
      return "Missing";
    case DriverState::kNotLoaded:
      return "NotLoaded";
    case DriverState::kNouveau:
      return "Nouveau";
    case DriverState::kVersionMismatch:
      return "VersionMismatch";
    case DriverState::kNoLibrary:
      return "NoLibrary";
    case DriverState::kNoPermission:
      return "NoPermission";
    case DriverState::kUnresponsive:
      return "Unresponsive";
    case DriverState::kFailed:
      return "Failed";
  }
  return "Failed";
}

bool Snapshot::SameAs(const Snapshot& other) const {
  return driver == other.driver && gpus == other.gpus && unmanaged == other.unmanaged &&
         companions == other.companions;
}

const Gpu* Snapshot::FindGpu(const GpuUuid& uuid) const {
  const auto found = std::ranges::find(gpus, uuid, &Gpu::uuid);
  return found == gpus.end() ? nullptr : &*found;
}

}  // namespace kgpu::device
