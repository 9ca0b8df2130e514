// share.by: mps. Programs run at the same time, through NVIDIA's MPS; each slot has a limit on
// device memory and on threads.
#pragma once

#include <string_view>

#include "src/node/sharing/sliced.h"

namespace kgpu::sharing {

// Programs that one MPS server takes from Volta on. Source: NVIDIA's MPS documentation, "Volta
// MPS".
inline constexpr unsigned kMaxMpsClients = 48;
// In the folder of a device, which has the device's UUID as its name: CUDA_MPS_PIPE_DIRECTORY.
inline constexpr std::string_view kMpsPipeFolder = "pipe";
// The device's pipe folder in a container.
inline constexpr std::string_view kMpsContainerPipe = "/usr/lib/kgpu/mps";
// Where programs and server share memory, in a container and for the daemon. Source: shm_open(3).
inline constexpr std::string_view kMpsSharedMemory = "/dev/shm";

class MpsKind final : public SlicedKind {
 public:
  constexpr MpsKind()
      : SlicedKind(
            {.name = "mps",
             .foreign = {.label = "mps", .capability = "mps", .section = "mps", .gke = "mps"},
             .limits_memory = true,
             .is_of_one_device = true,
             .multiple = MultipleSlots::kRefuse}) {}

  void Check(const GivenFields& given, Share& share, const Refuse& refuse) const override;
  Status CheckReplicas(unsigned replicas) const override;
  // Source: NVIDIA's MPS documentation, "Volta MPS" (limits on memory and threads, several users).
  Status CheckDevice(const Share& share, const Device& device) const override;
  StatusOr<std::vector<Cut>> CutsOf(const Share& share, std::optional<Bytes> usable) const override;
  std::string ShapeOf(const Share& share, const Limits& limits) const override;
  Status CheckRequest(std::span<const SlotPart> slots, const Share& share) const override;
  // The limits in the environment are for programs that keep to them: those that are larger, or
  // that a program removes, end at the daemon's settings.
  Access AccessTo(std::span<const SlotPart> slots, const Share& share,
                  const Places& places) const override;
};

extern const MpsKind kMps;

// Files and variables of a container whose programs use the device through its daemon, each with at
// most this percentage of its threads and this much memory; 0: no limit on memory.
Access MpsAccessTo(const std::string& device_uuid, unsigned threads, Bytes memory,
                   const Places& places);

}  // namespace kgpu::sharing
