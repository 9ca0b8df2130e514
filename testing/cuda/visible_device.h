// A GPU or a MIG device, as cuInit found it.
#pragma once

#include <cstdint>

namespace kgpu::simcuda {

struct VisibleDevice {
  uint32_t slot;
  uint32_t incarnation;
  bool is_mig;
  uint32_t gpu_instance;  // kUnsupported: the whole GPU
  uint32_t compute_instance;
};

inline bool IsSameMemory(const VisibleDevice& a, const VisibleDevice& b) {
  return a.slot == b.slot && a.incarnation == b.incarnation && a.gpu_instance == b.gpu_instance;
}

}  // namespace kgpu::simcuda
