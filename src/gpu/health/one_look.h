// Judges GPUs by one measurement: for commands that look at a host once, without an agent that
// remembers earlier ones.
#pragma once

#include <span>
#include <vector>

#include "src/gpu/device/gpu.h"
#include "src/gpu/device/sample.h"
#include "src/gpu/health/health_event.h"
#include "src/platform/base/clock.h"

namespace kgpu::health {

// The faults that `samples` show, by GPU, the worst of each first; by the same rules as the agent,
// except that nothing has to last. Sets the health of `gpus` and of their MIG devices; a reason
// that is already there is the cause, and stays.
std::vector<OpenFault> JudgeOnce(const device::SampleSet& samples, const Clock& clock,
                                 std::span<device::Gpu> gpus);

}  // namespace kgpu::health
