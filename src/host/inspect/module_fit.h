// Whether the kernel modules that are loaded can drive a GPU: their kind and their branch against
// the GPU's generation.
#pragma once

#include <cstdint>
#include <string>

#include "src/host/inspect/driver_facts.h"

namespace kgpu::host {

// Why modules do not drive a GPU, and what to do.
struct Misfit {
  std::string cause;  // "pascal GPUs need NVIDIA's proprietary modules, but the open ones of …"
  std::string fix;    // a command
  // True if the GPU has a driver of another kind or branch; false: nothing is known against it.
  explicit operator bool() const { return !cause.empty(); }
  bool operator==(const Misfit&) const = default;
};

// No misfit for GPUs that the table does not know, and for a module of an unknown version. Pure.
Misfit MisfitOf(uint16_t device_id, const NvrmVersion& module);

}  // namespace kgpu::host
