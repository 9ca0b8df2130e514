// Requests that read and change MIG layouts, and their payloads: part of the protocol of
// protocol.h, with the same rules. Each request is one change; the parent orders them.
#pragma once

#include "src/gpu/nvml/mig_abi.h"
#include "src/gpu/probe/protocol.h"

namespace kgpu::probe {

inline constexpr uint32_t kMaxMigProfiles = nvml::kGpuInstanceProfiles;
inline constexpr uint32_t kMaxMigStarts = 8;
inline constexpr uint32_t kMaxGpuInstances = 16;
inline constexpr uint32_t kMaxComputeInstances = 8;

struct MigProfileEntry {
  uint32_t nvml_profile;
  uint32_t profile_id;
  uint32_t slices;
  uint32_t max_instances;
  uint32_t multiprocessors;
  uint32_t copy_engines;
  uint32_t decoders;
  uint32_t encoders;
  uint32_t jpegs;
  uint32_t ofas;
  uint64_t memory_mib;
  uint32_t memory_slices;  // of a placement; 0: the driver names none
  uint32_t start_count;
  uint8_t starts[kMaxMigStarts];
  char name[32];  // "MIG 1g.10gb"; empty: a driver that does not say
};

struct MigProfilesPayload {
  uint32_t count;
  uint32_t reserved;
  MigProfileEntry profiles[kMaxMigProfiles];
};

struct ComputeInstanceEntry {
  uint8_t id;
  uint8_t slices;
};

struct GpuInstanceEntry {
  uint32_t id;
  uint32_t profile_id;
  uint32_t start;  // memory slices
  uint32_t size;
  uint32_t compute_count;
  ComputeInstanceEntry compute[kMaxComputeInstances];
};

struct MigInstancesPayload {
  uint32_t is_enabled;
  uint32_t is_pending;
  uint32_t count;
  GpuInstanceEntry instances[kMaxGpuInstances];
};

struct MigModePayload {
  int32_t activation;  // nvml::Return: why the mode is only pending
  uint32_t is_enabled;
  uint32_t is_pending;
};

struct GpuInstancePayload {
  uint32_t id;
  uint32_t start;
  uint32_t size;
};

struct ComputeInstancePayload {
  uint32_t id;
};

// RequestFrame::index of kMigCreateGpu: what to create, and where.
struct MigPlace {
  static constexpr uint32_t kAnyStart = 0xff;
  uint32_t profile_id = 0;  // below 65536
  uint32_t start = kAnyStart;
  uint32_t size = 0;

  constexpr uint32_t Pack() const { return profile_id << 16 | start << 8 | size; }
  static constexpr MigPlace Unpack(uint32_t index) {
    return {.profile_id = index >> 16, .start = index >> 8 & 0xff, .size = index & 0xff};
  }
};

// RequestFrame::index of kMigCreateCompute (slices) and kMigDestroyCompute (id).
struct MigPart {
  uint32_t gpu_instance = 0;
  uint32_t number = 0;  // slices or id, below 256

  constexpr uint32_t Pack() const { return gpu_instance << 8 | number; }
  static constexpr MigPart Unpack(uint32_t index) {
    return {.gpu_instance = index >> 8, .number = index & 0xff};
  }
};

static_assert(sizeof(ReplyHeader) + sizeof(MigProfilesPayload) <= kMaxFrameSize);
static_assert(sizeof(ReplyHeader) + sizeof(MigInstancesPayload) <= kMaxFrameSize);

}  // namespace kgpu::probe
