// Sums over a GPU's processes.
#pragma once

#include "testing/driver/libnvidia_ml/handles.h"

namespace kgpu::sim {

// Whether the process runs on the handle's target: a GPU, or one compute instance of it.
bool RunsOn(const SimProcess& process, const Target& target);
// Bytes that those processes use.
uint64_t UsedByProcesses(const SimGpu& gpu, const Target& target);

}  // namespace kgpu::sim
