// Client channels over sockets that we connected ourselves: gRPC's own connector waits a second
// after a refused connection, which a restarting kubelet gives for an instant.
#pragma once

#include <memory>

#include "src/platform/base/unique_fd.h"

namespace grpc {
class Channel;
}

namespace kgpu::rpc {

// A channel for this one connection; once it is lost, every call fails with Unavailable: connect
// and make another. `fd` is non-blocking. Messages of up to 16 MiB are taken.
std::shared_ptr<grpc::Channel> ChannelOver(UniqueFd fd);

}  // namespace kgpu::rpc
