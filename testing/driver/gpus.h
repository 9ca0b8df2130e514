// The GPUs of a simulated driver: which are there, what people call them, hot add and removal. Pure
// functions on the state; one that returns an error has changed nothing.
// Slots: a GPU is named by its place in SimState::gpus; FindGpu turns what people type into one.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"
#include "testing/driver/state.h"

namespace kgpu::sim {

// An empty state on the heap (it is too large for stacks): no GPU, driver loaded, usual majors.
std::unique_ptr<SimState> NewState();

// Slots of the GPUs that are there, in PCI order: element i is the GPU that NVML calls i.
std::vector<uint32_t> PresentGpus(const SimState& state);
// The slot of "0" (NVML's index), "GPU-…" or "0000:07:00.0". Errors: InvalidArgument, NotFound.
StatusOr<uint32_t> FindGpu(const SimState& state, std::string_view who);

// Copies `text` into a fixed field, which always ends with a zero. Errors: InvalidArgument (too
// long; names `field`).
Status SetText(char* field_bytes, size_t size, std::string_view field, std::string_view text);

// Errors: NotFound.
Status CheckSlot(const SimState& state, uint32_t slot);
bool IsSamePlace(const SimPci& a, const SimPci& b);

// What a kernel module holds in memory of a GPU and a fresh one does not.
void ForgetVolatile(SimGpu& gpu);

// Errors: AlreadyExists (UUID, PCI address or minor in use), ResourceExhausted.
StatusOr<uint32_t> AddGpu(SimState& state, const SimGpu& gpu);
// Another GPU of the model in `slot`, with a UUID, serial, PCI address and minor of its own.
StatusOr<uint32_t> CloneGpu(SimState& state, uint32_t slot);
// Pulled out, or removed through sysfs.
Status RemoveGpu(SimState& state, uint32_t slot);

}  // namespace kgpu::sim
