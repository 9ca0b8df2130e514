// MIG part of the simulated driver's state: the model's possible partitions, and the current ones.
// Plain data shared between processes: no pointers, no constructors, explicit padding.
#pragma once

#include <cstdint>

namespace kgpu::sim {

inline constexpr uint32_t kMaxMigProfiles = 16;
inline constexpr uint32_t kMaxPlacements = 8;
inline constexpr uint32_t kMaxGpuInstances = 16;     // ids 0…14: nodes of the tree of memory slices
inline constexpr uint32_t kMaxComputeInstances = 8;  // per GPU instance

// One GPU instance profile of a GPU model. Source: nvmlGpuInstanceProfileInfo_v2_t.
struct SimMigProfile {
  uint32_t index;           // NVML_GPU_INSTANCE_PROFILE_*: 0 is 1_SLICE, 7 is 1_SLICE_REV1, …
  uint32_t id;              // GI profile id: 19 for 1g.10gb of an A100
  uint32_t compute_slices;  // the number before "g"
  uint32_t memory_slices;   // size of a placement
  uint32_t max_instances;
  uint32_t has_media_extensions;  // "+me": at most one such instance per GPU
  uint32_t multiprocessors;
  uint32_t copy_engines;
  uint32_t decoders;
  uint32_t encoders;
  uint32_t jpeg_engines;
  uint32_t ofa_engines;
  uint64_t memory_mib;
  uint32_t placement_count;
  uint32_t placements[kMaxPlacements];  // first memory slice of each allowed placement
  char name[32];                        // "1g.10gb", "1g.10gb+me": NVML v2 prefixes it with "MIG "
  uint32_t padding;
};

struct SimComputeInstance {
  uint32_t exists;
  uint32_t id;       // 0…7, unique in its GPU instance
  uint32_t profile;  // NVML_COMPUTE_INSTANCE_PROFILE_*: 0..4 are 1, 2, 3, 4, 7 slices
  uint32_t compute_slices;
  uint32_t placement_start;  // in compute slices of the GPU instance
  uint32_t cap_minor;        // of /dev/nvidia-caps/nvidia-cap<N>
  char uuid[48];             // "MIG-…", new at each creation
};

struct SimGpuInstance {
  uint32_t exists;
  uint32_t id;               // 0…14; reused after destruction
  uint32_t profile_id;       // SimMigProfile::id
  uint32_t placement_start;  // in memory slices
  uint32_t placement_size;
  uint32_t cap_minor;
  SimComputeInstance compute_instances[kMaxComputeInstances];  // by id: element i has id i
};

struct SimMig {
  uint32_t is_capable;
  uint32_t mode;                 // 1 enabled
  uint32_t pending_mode;         // after the next reset; equal to mode where no reset is needed
  uint32_t needs_reset;          // Ampere: a mode change waits for a GPU reset
  uint32_t memory_slice_count;   // 8, or 4
  uint32_t compute_slice_count;  // 7, or 4
  uint32_t profile_count;
  uint32_t creations;  // increases with each compute instance: source of fresh UUIDs
  SimMigProfile profiles[kMaxMigProfiles];
  SimGpuInstance instances[kMaxGpuInstances];  // by id: element i has id i
};

// Minors of the capability nodes as the kernel module numbers them: config, monitor, then for each
// GPU minor 15 GPU instances of one "access" and eight compute instances.
// Source: /proc/driver/nvidia-caps/mig-minors.
inline constexpr uint32_t kCapMinorConfig = 1;
inline constexpr uint32_t kCapMinorMonitor = 2;
constexpr uint32_t GpuInstanceCapMinor(uint32_t gpu_minor, uint32_t gi) {
  return 3 + gpu_minor * 135 + gi * 9;
}
constexpr uint32_t ComputeInstanceCapMinor(uint32_t gpu_minor, uint32_t gi, uint32_t ci) {
  return GpuInstanceCapMinor(gpu_minor, gi) + 1 + ci;
}

}  // namespace kgpu::sim
