// The GPUs' memory as the simulated driver's server counts it, for all processes. With the
// library's lock held.
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/gpu/cuda_abi/abi.h"
#include "testing/cuda/visible_device.h"

namespace kgpu::simcuda {

// Bytes.
struct Space {
  uint64_t total;
  uint64_t free;
};
cuda_api::Result AskSpace(const VisibleDevice& device, Space* space);

// kOutOfMemory: the device has not that much.
cuda_api::Result Charge(const VisibleDevice& device, uint64_t bytes);
void Refund(const VisibleDevice& device, uint64_t bytes);

// Memory that several processes may use. Its bytes lie in a file in memory.
struct SharedMemory {
  uint64_t object;  // 0: none
  uint64_t key;
  uint64_t bytes;
  int fd;  // this process's
  uint32_t slot;
  uint32_t gpu_instance;
};
// `is_charged`: this process has charged the bytes already; from now on they are the object's.
cuda_api::Result MakeShared(const VisibleDevice& device, uint64_t bytes, bool is_charged,
                            SharedMemory* shared);
// kInvalidHandle: there is no such object.
cuda_api::Result Attach(uint64_t object, uint64_t key, SharedMemory* shared);
void Detach(const SharedMemory& shared);

// The object whose file in memory `fd` is. False: it is none of the simulated driver's.
bool FindObject(int fd, uint64_t* object, uint64_t* key);

}  // namespace kgpu::simcuda
