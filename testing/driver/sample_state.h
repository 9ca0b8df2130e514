// A small simulated driver for tests: `gpus` A100-80GB GPUs, connected by NVLink if two.
#pragma once

#include <cstdint>
#include <memory>

#include "testing/driver/state.h"

namespace kgpu::sim {

// UUIDs are "GPU-00000000-0000-0000-0000-00000000000<i>", PCI addresses 0000:0<i+1>:00.0, minors i.
std::unique_ptr<SimState> SampleState(uint32_t gpus);

}  // namespace kgpu::sim
