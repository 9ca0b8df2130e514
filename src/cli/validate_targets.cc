#include "src/cli/validate_targets.h"

#include <fmt/format.h>

#include <optional>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

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
  const bool has_mig = gpu.mig_mode && gpu.mig_mode->is_enabled;
  if (!has_mig && gpu.mig_devices.empty()) {
    targets.push_back(Device(gpu.uuid.str()));
  }
  return !has_mig || !gpu.mig_devices.empty();
}

bool HasMig(const Gpu& gpu, std::string_view uuid) {
  for (const MigDevice& mig : gpu.mig_devices) {
    if (mig.uuid.str() == uuid) {
      return true;
    }
  }
  return false;
}

Status CheckAnswers(const device::Snapshot& snapshot) {
  return snapshot.driver.state == device::DriverState::kReady
             ? OkStatus()
             : FailedPrecondition("{}", snapshot.driver.reason);
}

}  // namespace

StatusOr<std::vector<ValidateTarget>> AllTargets(const device::Snapshot& snapshot) {
  RETURN_IF_ERROR(CheckAnswers(snapshot));
  std::vector<ValidateTarget> targets;
  for (const Gpu& gpu : snapshot.gpus) {
    if (!AddTargets(gpu, targets)) {
      targets.push_back({.uuid = "",
                         .name = gpu.uuid.str(),
                         .why_absent = "in MIG mode without a MIG device: make some (nvidia-smi "
                                       "mig -cgi PROFILE -C), or end the mode"});
    }
  }
  for (const device::UnmanagedGpu& gpu : snapshot.unmanaged) {
    if (gpu.kernel_driver != "vfio-pci") {
      targets.push_back({.uuid = "", .name = gpu.pci.str(), .why_absent = gpu.reason});
    }
  }
  if (targets.empty()) {
    return NotFound("--all-gpus: the driver shows no GPU: kgpu devices says what there is and why");
  }
  return targets;
}

StatusOr<std::vector<ValidateTarget>> TargetsOf(const device::Snapshot& snapshot,
                                                std::string_view wanted) {
  const bool is_uuid = wanted.starts_with("GPU-") || wanted.starts_with("MIG-");
  const std::optional<uint64_t> index = ParseUint(wanted);
  if (!is_uuid && !index) {
    return InvalidArgument("--gpu: \"{}\" is neither an index nor a UUID: see kgpu devices",
                           wanted);
  }
  if (is_uuid && snapshot.driver.state != device::DriverState::kReady) {
    return std::vector<ValidateTarget>{Device(std::string(wanted))};
  }
  RETURN_IF_ERROR(CheckAnswers(snapshot));
  std::vector<ValidateTarget> targets;
  for (const Gpu& gpu : snapshot.gpus) {
    if (HasMig(gpu, wanted)) {
      return std::vector<ValidateTarget>{Device(std::string(wanted))};
    }
    const bool is_wanted = is_uuid ? gpu.uuid.str() == wanted : gpu.index == *index;
    if (is_wanted && !AddTargets(gpu, targets)) {
      return FailedPrecondition(
          "--gpu {}: in MIG mode without a MIG device: make some (nvidia-smi mig -cgi PROFILE -C), "
          "or end the mode",
          wanted);
    }
  }
  if (targets.empty()) {
    return NotFound(
        "--gpu {}: the driver shows no such GPU: kgpu devices says what there is and "
        "why",
        wanted);
  }
  return targets;
}

}  // namespace kgpu::cli
