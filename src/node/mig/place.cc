#include "src/node/mig/place.h"

#include <algorithm>
#include <utility>

#include "src/node/mig/change.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::mig {
namespace {

bool IsAt(const Instance& instance, const ClaimPlace& place) {
  return instance.kind.profile == place.profile && instance.start == place.start;
}

// A GPU instance without a compute instance: its maker was killed, and nobody can use it.
bool IsHalfMade(const Instance& instance) {
  return instance.kind.compute == std::vector<unsigned>{0};
}

StatusOr<std::vector<Placement>> PlacementsOf(const Geometry& geometry,
                                              const std::vector<Instance>& layout) {
  std::vector<Placement> placements;
  for (const Instance& instance : layout) {
    const auto profile = geometry.Find(instance.kind.profile);
    if (!profile) {
      return NotFound("the GPU has no MIG profile {}", instance.kind.profile);
    }
    placements.push_back({.profile = *profile, .start = instance.start});
  }
  return placements;
}

}  // namespace

StatusOr<Target> WithPlace(const HostGpu& gpu, const ClaimPlace& place) {
  ASSIGN_OR_RETURN(Target target, TargetOf(gpu));
  target.is_mig_enabled = true;
  target.is_pending_enabled.reset();
  std::erase_if(target.layout, [&](const Instance& instance) {
    return IsAt(instance, place) && IsHalfMade(instance);
  });
  const Instance wanted{.kind = {.profile = place.profile}, .start = place.start};
  const auto there = std::ranges::find_if(
      target.layout, [&](const Instance& instance) { return IsAt(instance, place); });
  if (there != target.layout.end() && there->kind == wanted.kind) {
    return target;
  }
  target.layout.push_back(wanted);
  ASSIGN_OR_RETURN(const auto placements, PlacementsOf(*gpu.geometry, target.layout));
  if (const Status status = gpu.geometry->Check(placements); !status.ok()) {
    return FailedPrecondition("GPU {} has other MIG devices than claims were given: {}", gpu.index,
                              Message(status));
  }
  return target;
}

StatusOr<Target> WithoutPlace(const HostGpu& gpu, const ClaimPlace& place) {
  ASSIGN_OR_RETURN(Target target, TargetOf(gpu));
  std::erase_if(target.layout, [&](const Instance& instance) {
    return IsAt(instance, place) &&
           (!place.gpu_instance || *place.gpu_instance == instance.id || IsHalfMade(instance));
  });
  return target;
}

StatusOr<Target> WithoutMig(const HostGpu& gpu) {
  ASSIGN_OR_RETURN(Target target, TargetOf(gpu));
  if (!target.layout.empty()) {
    return FailedPrecondition("GPU {} has MIG devices: {}", gpu.index, StateText(target));
  }
  target.is_mig_enabled = false;
  target.is_pending_enabled.reset();
  return target;
}

StatusOr<MadeDevice> DeviceAt(const HostGpu& gpu, const ClaimPlace& place) {
  for (const probe::GpuInstanceReport& report : gpu.instances) {
    const auto instance = InstanceOf(*gpu.geometry, report);
    const auto device = std::ranges::find(gpu.devices, report.id, &MigDeviceId::gpu_instance);
    if (instance.ok() && IsAt(*instance, place) && report.compute.size() == 1 &&
        device != gpu.devices.end()) {
      return MadeDevice{.uuid = device->uuid,
                        .gpu_instance = report.id,
                        .compute_instance = report.compute.front().id};
    }
  }
  return NotFound("GPU {}: the driver shows no MIG device {} at memory slice {}", gpu.index,
                  place.profile, place.start);
}

StatusOr<HostGpu> ChangeGpu(const sys::Root& host, const std::string& gpu,
                            const std::function<StatusOr<Target>(const HostGpu&)>& target_of,
                            ApplyDeps deps) {
  ASSIGN_OR_RETURN(const ChangeLock lock, ChangeLock::Take(host));
  ASSIGN_OR_RETURN(const device::GpuUuid uuid, device::GpuUuid::Parse(gpu));
  Applier applier(std::move(deps));
  ASSIGN_OR_RETURN(const HostGpu before, applier.Find(uuid));
  ASSIGN_OR_RETURN(const Target target, target_of(before));
  RETURN_IF_ERROR(applier.Apply({target}));
  return applier.Find(uuid);
}

}  // namespace kgpu::mig
