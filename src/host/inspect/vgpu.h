// Whether a guest's GPU is a vGPU, and which driver its hypervisor runs: from the GPU's
// configuration space, which the hypervisor fills in.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/gpu/device/ids.h"
#include "src/platform/sys/root.h"

namespace kgpu::host {

// What the hypervisor's vGPU manager reports about itself.
struct VgpuHost {
  std::string driver_version;  // "460.16"; empty when the capability has no such record
  std::string driver_branch;   // "r460_00"
  bool operator==(const VgpuHost&) const = default;
};

// The vGPU record in a function's configuration space (256 bytes or more, which only root can
// read). Nothing if it is no vGPU, or only the first 64 bytes could be read. Source: PCI Local Bus
// 3.0 §6.7 (the list of capabilities); the vendor-specific capability with the signature "VF" and
// records of {id, length, data}, of which number 0 holds two texts of ten characters, as NVIDIA's
// GPU feature discovery reads it.
std::optional<VgpuHost> ParseVgpuCapability(std::string_view config);

// The record of the first of `gpus` that is a vGPU.
std::optional<VgpuHost> FindVgpuHost(const sys::Root& host,
                                     const std::vector<device::PciBusId>& gpus);

}  // namespace kgpu::host
