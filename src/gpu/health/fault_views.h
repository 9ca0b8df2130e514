// Presents the faults of one GPU to others.
#pragma once

#include <string>
#include <vector>

#include "src/gpu/device/gpu.h"
#include "src/gpu/health/fault_record.h"
#include "src/gpu/health/health_event.h"
#include "src/gpu/health/settings.h"

namespace kgpu::health {

// Why a held device is held, and what to do about it; begins with a blank.
std::string HeldText(const FlapLimit& limit);

// Sets the health of the GPU and of its MIG devices: the worst fault is the reason.
void ApplyFaults(const GpuFaults& faults, const FlapLimit& limit, device::Gpu& gpu);

// Adds them worst first.
void AddOpenFaults(const device::GpuUuid& gpu, const GpuFaults& faults,
                   std::vector<OpenFault>& open);
void AddCounters(const device::GpuUuid& gpu, const GpuFaults& faults, Counters& counters);

}  // namespace kgpu::health
