// Runs a kernel of parsed PTX, one thread after the other, since the subset has no barriers.
#pragma once

#include "testing/cuda/ptx.h"

namespace kgpu::ptx {

enum class Fault : uint8_t { kNone, kIllegalAddress, kMisaligned, kTooLong };

struct Launch {
  const Module* module;
  const Function* function;
  const uint8_t* parameters;  // Function::parameter_bytes of them
  uint32_t grid[3];
  uint32_t block[3];
  // Maps what a kernel may read and write: `size` bytes at `address` as a pointer, or null.
  void* (*resolve)(void* memory, uint64_t address, uint32_t size);
  void* memory;
  uint64_t instruction_limit;  // of all threads together; over it: kTooLong
};

Fault Run(const Launch& launch);

}  // namespace kgpu::ptx
