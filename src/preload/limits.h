// A slot's file `limits`: what one container may use of one GPU.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kgpu::preload {

inline constexpr size_t kMaxLimitsSize = 4096;  // bytes of the file
inline constexpr size_t kUuidTextSize = 64;     // "GPU-" and 36 characters, with room

struct Limits {
  char device[kUuidTextSize] = {};  // UUID of the GPU or MIG device, as NVML prints it
  uint64_t memory = 0;              // bytes
  uint64_t context = 0;             // bytes that each CUDA context costs
  uint32_t compute = 0;             // percent of the GPU's time; 0: no share
  bool is_pinned_counted = false;   // pinned memory of the host counts, too
  bool may_call_unknown = false;  // a driver function that we do not know is reported, not refused
};

// Reads lines of `key value`; unknown keys are ignored. Returns null, or what is wrong: text that
// lives for ever.
const char* ParseLimits(const char* text, size_t size, Limits* limits);

}  // namespace kgpu::preload
