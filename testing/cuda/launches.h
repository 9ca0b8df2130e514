// Kernels that run.
#pragma once

#include <cstdint>

#include "testing/cuda/library.h"

namespace kgpu::simcuda {

// A launch with a copy of its arguments.
struct Launch {
  const ptx::Function* kernel;
  uint32_t grid[3];
  uint32_t block[3];
  uint8_t parameters[ptx::kMaxParameters * 8];
};

// Checks the launch and copies the arguments. With the lock held.
Result PrepareLaunch(const ContextObject* context, cuda_api::Function function,
                     const uint32_t (&grid)[3], const uint32_t (&block)[3], void* const* arguments,
                     Launch* launch);
// Runs it to its end; a fault of it fails the context. With the lock held.
Result RunLaunch(ContextObject* context, const Launch& launch);

}  // namespace kgpu::simcuda
