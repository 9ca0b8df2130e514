// NVML's return codes as statuses: the one place where they become a code and a text.
#pragma once

#include <string_view>

#include "src/gpu/nvml/abi.h"
#include "src/platform/base/status.h"

namespace kgpu::nvml {

// What a return code means, for people, in one clause. Codes that newer drivers invent are
// "unknown NVML return code".
std::string_view Explain(Return code);

// The status of a call that returned `code`; OK for kSuccess. `what` names the call and its object
// ("nvmlDeviceGetName of GPU 3"). Source: nvmlReturn_t in the NVML API reference.
Status ReturnStatus(Return code, std::string_view what);

// The answer says something of the hardware's or the software's abilities, not of its health: a
// GPU that gives it is as good as before.
bool IsBenign(Return code);

// The answer means that the whole library is of no use until it is initialised again in a new
// process: the driver was unloaded, replaced or never there.
bool IsDriverGone(Return code);

}  // namespace kgpu::nvml
