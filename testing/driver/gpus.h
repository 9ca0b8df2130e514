// The GPUs of a simulated driver: which exist, their names, hot add and removal. Pure functions on
// the state; one that returns an error has changed nothing. A GPU's slot is its index in
// SimState::gpus; FindGpu turns a name that people type into one.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"
#include "testing/driver/state.h"

namespace kgpu::sim {

// An empty state on the heap (it is too large for stacks): no GPU, driver loaded, the usual majors.
std::unique_ptr<SimState> NewState();

// Slots of the GPUs that are present, in PCI order: element i is NVML's GPU i.
std::vector<uint32_t> PresentGpus(const SimState& state);
// The slot of "0" (NVML's index), "GPU-…" or "0000:07:00.0". Errors: InvalidArgument, NotFound.
StatusOr<uint32_t> FindGpu(const SimState& state, std::string_view who);

// Copies `text` into a fixed-size field, always zero-terminated. Errors: InvalidArgument (too long;
// names `field`).
Status SetText(char* field_bytes, size_t size, std::string_view field, std::string_view text);

// Errors: NotFound.
Status CheckSlot(const SimState& state, uint32_t slot);
bool IsSamePlace(const SimPci& a, const SimPci& b);

// Resets what a kernel module holds in memory about a GPU.
void ForgetVolatile(SimGpu& gpu);

// Errors: AlreadyExists (UUID, PCI address or minor in use), ResourceExhausted.
StatusOr<uint32_t> AddGpu(SimState& state, const SimGpu& gpu);
// Another GPU of the model in `slot`, with its own UUID, serial, PCI address and minor.
StatusOr<uint32_t> CloneGpu(SimState& state, uint32_t slot);
// Pulled out, or removed through sysfs.
Status RemoveGpu(SimState& state, uint32_t slot);

}  // namespace kgpu::sim
