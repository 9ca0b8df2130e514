// gRPC's status ↔ ours: the codes are the same numbers.
#pragma once

#include <grpcpp/support/status.h>

#include "src/platform/base/status.h"

namespace kgpu::rpc {

// The text is "<text of the peer>"; an empty one becomes the code's name.
Status FromGrpc(const grpc::Status& status);
grpc::Status ToGrpc(const Status& status);

}  // namespace kgpu::rpc
