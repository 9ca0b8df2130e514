// GPUs in MIG mode: programs see their MIG devices only.
#pragma once

#include <string>

#include "src/gpu/device/gpu.h"

namespace kgpu::device {

bool IsInMigMode(const Gpu& gpu);

// Whether no program can use the GPU, since it is in MIG mode and the driver shows no MIG device.
bool IsWithoutMigDevices(const Gpu& gpu);

// Whether turning MIG on or off resets the GPU. Source: NVIDIA's MIG user guide, "Enable MIG Mode".
bool MigModeNeedsReset(const Gpu& gpu);

// For people, of such a GPU, with the fix.
std::string WithoutMigDevicesText(const Gpu& gpu);

}  // namespace kgpu::device
