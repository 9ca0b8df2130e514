// Client channels over sockets that we connect ourselves: gRPC's own connector waits a second after
// a refused connection, and a restarting kubelet refuses connections for a moment.
#pragma once

#include <memory>

#include "src/platform/base/unique_fd.h"

namespace grpc {
class Channel;
}

namespace kgpu::rpc {

// A channel for this one connection; after it is lost, every call fails with Unavailable: connect
// and create another. `fd` must be non-blocking. Accepts messages of up to 16 MiB.
std::shared_ptr<grpc::Channel> ChannelOver(UniqueFd fd);

}  // namespace kgpu::rpc
