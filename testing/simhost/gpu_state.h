// Fills the driver's state of one GPU from its model.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "testing/driver/state_gpu.h"
#include "testing/simhost/profile.h"

namespace kgpu::simhost {

// A GPU's location and individual properties.
struct GpuPlace {
  device::PciBusId pci;
  unsigned minor = 0;
  unsigned numa_node = 0;
  std::string cpu_list;  // of the NUMA node
  unsigned board = 0;    // number of the board, for GPUs that share one
  bool shares_board = false;
  std::string uuid;
  std::string serial;
  std::string gsp_firmware;  // version; empty if the driver does not use it
};

// An idle, healthy GPU without NVLinks to anything and no topology.
void FillGpu(const GpuModel& model, const GpuPlace& place, sim::SimGpu& gpu);

// Copies `text` into the fixed array `out`, truncated if needed, always null-terminated.
template <size_t N>
void CopyText(std::string_view text, char (&out)[N]) {
  const size_t size = std::min(text.size(), N - 1);
  std::fill(std::copy_n(text.begin(), size, out), out + N, '\0');
}

}  // namespace kgpu::simhost
