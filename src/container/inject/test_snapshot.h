// Inventories for the tests of this folder.
#pragma once

#include "src/gpu/device/snapshot.h"

namespace kgpu::inject {

inline device::GpuUuid TestGpuUuid(unsigned index) {
  return *device::GpuUuid::Parse(
      fmt::format("GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a{:02x}", index));
}

inline device::Snapshot TestSnapshot(unsigned gpus) {
  device::Snapshot snapshot;
  snapshot.driver.state = device::DriverState::kReady;
  snapshot.driver.version = "535.104.05";
  snapshot.driver.module_version = "535.104.05";
  for (unsigned i = 0; i < gpus; ++i) {
    device::Gpu& gpu = snapshot.gpus.emplace_back();
    gpu.uuid = TestGpuUuid(i);
    gpu.index = i;
    gpu.minor = i;
    gpu.pci.bus = static_cast<uint8_t>(0x07 + i);
  }
  return snapshot;
}

// Sets GPU `index` to MIG mode with `count` instances. Cap minors: 10 * index + 2 * i + 1, + 2.
inline void AddTestMig(device::Snapshot& snapshot, unsigned index, unsigned count) {
  device::Gpu& gpu = snapshot.gpus.at(index);
  gpu.mig_mode = device::MigMode{true, true};
  for (unsigned i = 0; i < count; ++i) {
    device::MigDevice& mig = gpu.mig_devices.emplace_back();
    mig.uuid = *device::MigUuid::Parse(
        fmt::format("MIG-7c1d4bd0-85a5-5d5a-b9c5-d4ee4f2b{:02x}{:02x}", index, i));
    mig.index = i;
    mig.gpu_instance = 7 + i;
    mig.gpu_instance_cap_minor = 10 * index + 2 * i + 1;
    mig.compute_instance_cap_minor = 10 * index + 2 * i + 2;
  }
}

}  // namespace kgpu::inject
