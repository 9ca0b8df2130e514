// ECC counters by NVML's names; also used for field values.
#pragma once

#include <cstdint>

#include "testing/driver/nvml_abi_more.h"
#include "testing/driver/state_gpu.h"

namespace kgpu::sim {

// The counters of nvml::EccBits and nvml::EccCounter, by location.
const uint64_t (&EccCounters(const SimEcc& ecc, int32_t bits, int32_t counter))[kEccLocations];
uint64_t EccTotal(const SimEcc& ecc, int32_t bits, int32_t counter);

// Retired pages of one cause.
uint32_t RetiredPages(const SimGpu& gpu, uint32_t cause);

}  // namespace kgpu::sim
