#include "src/cli/gpu/validate_targets.h"

#include <fmt/format.h>

#include "src/gpu/device/find_device.h"
#include "src/gpu/device/mig_mode.h"
#include "src/host/inspect/rivals.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::cli {
namespace {

using device::Gpu;
using device::MigDevice;

ValidateTarget Device(std::string uuid) {
  return {.uuid = std::move(uuid), .name = "", .why_absent = ""};
}

// False: in MIG mode, and without a MIG device.
bool AddTargets(const Gpu& gpu, std::vector<ValidateTarget>& targets) {
  for (const MigDevice& mig : gpu.mig_devices) {
    targets.push_back(Device(mig.uuid.str()));
  }
  if (!device::IsInMigMode(gpu) && gpu.mig_devices.empty()) {
    targets.push_back(Device(gpu.uuid.str()));
  }
  return !device::IsWithoutMigDevices(gpu);
}

Status CheckAnswers(const device::Snapshot& snapshot) {
  return snapshot.driver.state == device::DriverState::kReady
             ? OkStatus()
             : FailedPrecondition("{} Run kgpu doctor to see the fix.", snapshot.driver.reason);
}

// The GPUs that have no index, since the driver does not list them; empty: there are none.
std::string OthersText(const device::Snapshot& snapshot) {
  std::string text;
  for (const device::UnmanagedGpu& gpu : snapshot.unmanaged) {
    if (!host::IsForGuests(gpu.kernel_driver)) {
      text += fmt::format("; the driver does not list {}: {}", gpu.pci.str(), gpu.reason);
    }
  }
  return text;
}

}  // namespace

StatusOr<std::vector<ValidateTarget>> AllTargets(const device::Snapshot& snapshot) {
  RETURN_IF_ERROR(CheckAnswers(snapshot));
  std::vector<ValidateTarget> targets;
  for (const Gpu& gpu : snapshot.gpus) {
    if (!AddTargets(gpu, targets)) {
      targets.push_back(
          {.uuid = "", .name = gpu.uuid.str(), .why_absent = device::WithoutMigDevicesText(gpu)});
    }
  }
  for (const device::UnmanagedGpu& gpu : snapshot.unmanaged) {
    if (!host::IsForGuests(gpu.kernel_driver)) {
      targets.push_back({.uuid = "", .name = gpu.pci.str(), .why_absent = gpu.reason});
    }
  }
  if (targets.empty()) {
    return NotFound("--all-gpus: the driver reports no GPU: run kgpu devices to see why");
  }
  return targets;
}

StatusOr<std::vector<ValidateTarget>> TargetsOf(const device::Snapshot& snapshot,
                                                std::string_view wanted) {
  const StatusOr<device::NamedDevice> found = device::FindDevice(snapshot, wanted);
  if (found.status().code() == StatusCode::kInvalidArgument) {
    return Annotate(found.status(), "--gpu");
  }
  const bool is_uuid = wanted.starts_with("GPU-") || wanted.starts_with("MIG-");
  if (is_uuid && snapshot.driver.state != device::DriverState::kReady) {
    return std::vector<ValidateTarget>{Device(std::string(wanted))};
  }
  RETURN_IF_ERROR(CheckAnswers(snapshot));
  if (!found.ok()) {
    return NotFound("--gpu: {}{}", Message(found.status()), OthersText(snapshot));
  }
  if (found->mig != nullptr) {
    return std::vector<ValidateTarget>{Device(found->mig->uuid.str())};
  }
  std::vector<ValidateTarget> targets;
  if (!AddTargets(*found->gpu, targets)) {
    return FailedPrecondition("--gpu {}: {}", wanted, device::WithoutMigDevicesText(*found->gpu));
  }
  return targets;
}

}  // namespace kgpu::cli
