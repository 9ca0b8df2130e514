// Converts gRPC's status to ours: the codes have the same numbers.
#pragma once

#include <grpcpp/support/status.h>

#include "src/platform/base/status.h"

namespace kgpu::rpc {

// Keeps the peer's text; an empty one becomes the code's name.
Status FromGrpc(const grpc::Status& status);
grpc::Status ToGrpc(const Status& status);

}  // namespace kgpu::rpc
