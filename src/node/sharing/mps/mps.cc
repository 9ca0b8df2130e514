#include "src/node/sharing/mps/mps.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "src/platform/base/status_macros.h"

namespace kgpu::sharing {
namespace {

constexpr unsigned kAllThreads = 100;  // percent

// The threads of each cut, and the limit on the slots of all.
StatusOr<std::vector<Cut>> WithThreads(std::vector<Cut> cuts, Bytes usable) {
  unsigned slots = 0;
  for (Cut& cut : cuts) {
    const uint64_t part =
        cut.share.size && cut.share.size->parts != 0
            ? kAllThreads / cut.share.size->parts
            : cut.limits.memory.value_or(Bytes{}).count * kAllThreads / usable.count;
    cut.limits.threads =
        cut.share.threads.value_or(static_cast<unsigned>(std::max<uint64_t>(part, 1)));
    slots += cut.slots;
  }
  if (slots > kMaxMpsClients) {
    return FailedPrecondition(
        "it has {} slots, but an MPS server takes {} programs: set larger slices", slots,
        kMaxMpsClients);
  }
  return cuts;
}

}  // namespace

constinit const MpsKind kMps;

void MpsKind::Check(const GivenFields& given, Share& share, const Refuse& refuse) const {
  if (!given.multiple) {
    share.multiple = traits().multiple;
  }
  if (static_cast<int>(given.replicas) + static_cast<int>(given.size) +
          static_cast<int>(given.layout) !=
      1) {
    refuse(fmt::format(
        "{}: set replicas, such as 4, for equal parts, or size, such as 20Gi or 1/4, or layout, "
        "such as [40Gi, 20Gi]",
        given.replicas || given.size ? "only one of replicas, size and layout is possible"
                                     : "replicas: missing"));
  }
  if (const Status status = CheckReplicas(share.replicas); !status.ok()) {
    refuse(fmt::format("replicas: {}", Message(status)));
  }
  if (share.multiple == MultipleSlots::kSpread) {
    refuse(
        "multiple: a program reaches the MPS server of one device, so its slots cannot be of "
        "several: set refuse or allow");
  }
  if (given.compute) {
    refuse(
        "compute: programs run at the same time with MPS, so they have no turns to divide: set "
        "threads instead");
  }
  CheckSizes(share, refuse);
}

Status MpsKind::CheckReplicas(unsigned replicas) const {
  return replicas <= kMaxMpsClients
             ? OkStatus()
             : InvalidArgument("an MPS server takes {} programs: set at most that many",
                               kMaxMpsClients);
}

Status MpsKind::CheckDevice(const Share& /*share*/, const Device& device) const {
  const auto& mode = device.gpu->mig_mode;
  if (device.mig != nullptr || (mode && mode->is_enabled)) {
    return FailedPrecondition(
        "MIG devices are not shared by MPS here: set share.by: memory or time, or disable MIG "
        "mode");
  }
  constexpr int kVolta = 7;
  const auto& compute = device.gpu->compute;
  if (compute && compute->major < kVolta) {
    return FailedPrecondition(
        "its compute capability is {}.{}, and MPS limits memory and threads from 7.0 (Volta) on: "
        "set share.by: memory or time",
        compute->major, compute->minor);
  }
  return OkStatus();
}

StatusOr<std::vector<Cut>> MpsKind::CutsOf(const Share& share, std::optional<Bytes> usable) const {
  if (share.replicas == 1) {
    ASSIGN_OR_RETURN(std::vector<Cut> cuts, SlicesOf(share, usable));
    return WithThreads(std::move(cuts), usable.value_or(Bytes{}));
  }
  // Equal parts: those of a size, but without it in the resource's name.
  ASSIGN_OR_RETURN(std::vector<Cut> cuts,
                   SlicesOf(SlotShare(share, {.parts = share.replicas}), usable));
  ASSIGN_OR_RETURN(cuts, WithThreads(std::move(cuts), usable.value_or(Bytes{})));
  cuts.front().share = share;
  return cuts;
}

// The daemon's own limits are those of all slots if they add up, and it must end for others.
std::string MpsKind::ShapeOf(const Share& share, const Limits& limits) const {
  return fmt::format(" mps {}\n{}", limits.threads,
                     share.multiple == MultipleSlots::kAllow ? "slots add up\n" : "");
}

Status MpsKind::CheckRequest(std::span<const SlotPart> slots, const Share& share) const {
  RETURN_IF_ERROR(SlicedKind::CheckRequest(slots, share));
  const auto other = std::ranges::find_if(
      slots, [&](const SlotPart& slot) { return slot.device_uuid != slots.front().device_uuid; });
  if (share.multiple != MultipleSlots::kAllow || other == slots.end()) {
    return OkStatus();
  }
  return InvalidArgument(
      "{} slots requested, but those that are free are of {} and {}, and a program reaches the MPS "
      "daemon of one device: request fewer",
      slots.size(), slots.front().device_uuid, other->device_uuid);
}

Access MpsKind::AccessTo(std::span<const SlotPart> slots, const Share& share,
                         const Places& places) const {
  unsigned threads = 0;
  Bytes memory{};
  for (const SlotPart& slot : slots) {
    threads += slot.limits.threads;
    memory.count += slot.limits.memory.value_or(Bytes{}).count;
  }
  Access access = SlicedKind::AccessTo(slots, share, places);
  Access through = MpsAccessTo(slots.front().device_uuid, threads, memory, places);
  access.envs = std::move(through.envs);
  access.mounts.insert(access.mounts.end(), through.mounts.begin(), through.mounts.end());
  return access;
}

Access MpsAccessTo(const std::string& device_uuid, unsigned threads, Bytes memory,
                   const Places& places) {
  Access access;
  access.envs = {
      {"CUDA_MPS_PIPE_DIRECTORY", std::string(kMpsContainerPipe)},
      {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", fmt::format("{}", std::min(threads, kAllThreads))}};
  if (memory.count != 0) {
    // A container with a slot of an MPS device sees no other device.
    access.envs["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"] = fmt::format("0={}M", memory.mebi());
  }
  // Programs lock and create files in both.
  access.mounts = {{.container_path = std::string(kMpsContainerPipe),
                    .host_path = fmt::format("{}/{}/{}", places.mps, device_uuid, kMpsPipeFolder),
                    .is_read_only = false},
                   {.container_path = std::string(kMpsSharedMemory),
                    .host_path = places.shared_memory,
                    .is_read_only = false}};
  return access;
}

}  // namespace kgpu::sharing
