// The memory slices of a loan, in the ledger.
#pragma once

#include <boost/json/array.hpp>

#include <string>
#include <vector>

#include "src/gpu/device/ids.h"
#include "src/node/config/tree_reader.h"
#include "src/node/slices/slice_files.h"
#include "src/platform/base/status.h"

namespace kgpu::loans {

// Slices with their limits as they were when they were lent: whatever the configuration says
// later, a container keeps what it has.
using LentSlices = std::vector<slices::SliceSlot>;

// "GPU-…::3", as in pools::Slot.
std::string SlotIdOf(const device::GpuUuid& gpu, unsigned replica);

// Errors: InvalidArgument (more than a container can have, not slots of GPUs, twice the same).
Status CheckSlices(const LentSlices& slices);

// The GPUs that they are cut from, each once, in their order.
std::vector<device::GpuUuid> GpusOf(const LentSlices& slices);

boost::json::array PrintSlices(const LentSlices& slices);
// Reports errors at their fields.
LentSlices ReadSlices(const config::Node& node);

}  // namespace kgpu::loans
