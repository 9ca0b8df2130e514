// RPC errors as Go's gRPC prints them: plugins' logs and pods' messages show them this way.
#pragma once

#include <string>

#include "src/platform/base/status.h"

namespace kgpu::kubelet {

// "rpc error: code = Unavailable desc = …".
std::string GoText(const Status& status);

}  // namespace kgpu::kubelet
