// RPC errors as Go's gRPC prints them, as in plugins' logs and pods' messages.
#pragma once

#include <string>

#include "src/platform/base/status.h"

namespace kgpu::kubelet {

// "rpc error: code = Unavailable desc = …".
std::string GoText(const Status& status);

}  // namespace kgpu::kubelet
