// What the faults of one GPU look like to others.
#pragma once

#include <string>
#include <vector>

#include "src/gpu/device/gpu.h"
#include "src/gpu/health/fault_record.h"
#include "src/gpu/health/health_event.h"
#include "src/gpu/health/settings.h"

namespace kgpu::health {

// Why a device that is held is, and what to do; begins with a blank.
std::string HeldText(const FlapLimit& limit);

// Sets the health of the GPU and of its MIG devices: the worst fault is the reason.
void ApplyFaults(const GpuFaults& faults, const FlapLimit& limit, device::Gpu& gpu);

// The worst first.
void AddOpenFaults(const device::GpuUuid& gpu, const GpuFaults& faults,
                   std::vector<OpenFault>& open);
void AddCounters(const device::GpuUuid& gpu, const GpuFaults& faults, Counters& counters);

}  // namespace kgpu::health
