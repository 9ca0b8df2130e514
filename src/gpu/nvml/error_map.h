// Maps NVML return codes to statuses: the only place that gives them a code and a text.
#pragma once

#include <string_view>

#include "src/gpu/nvml/abi.h"
#include "src/platform/base/status.h"

namespace kgpu::nvml {

// The meaning of a return code, for people, in one clause. Codes of newer drivers are "unknown NVML
// return code".
std::string_view Explain(Return code);

// The status of a call that returned `code`; OK for kSuccess. `what` names the call and its object
// ("nvmlDeviceGetName of GPU 3"). Source: nvmlReturn_t in the NVML API reference.
Status ReturnStatus(Return code, std::string_view what);

// The code is about what the hardware or software supports, not about its health: a GPU that
// returns it is still healthy.
bool IsBenign(Return code);

// The code means that the whole library is unusable until a new process initialises it: the driver
// was unloaded, replaced or never present.
bool IsDriverGone(Return code);

}  // namespace kgpu::nvml
