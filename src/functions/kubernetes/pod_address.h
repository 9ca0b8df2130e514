// Where the watchdog of a pod listens, and connections to it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "src/platform/net/http/client_connection.h"

namespace kgpu::functions {

// The address for a pod's IP: "10.0.0.7:8080", "[fd00::7]:8080", or the path of a unix socket.
using PodAddress = std::function<std::string(std::string_view ip)>;

std::string WatchdogAddress(std::string_view ip);

// A connection that is being made: what is sent waits for it. Errors: InvalidArgument (the
// address); those of connecting.
StatusOr<std::shared_ptr<http::ClientConnection>> ConnectPod(EventLoop& loop,
                                                             const std::string& address);

}  // namespace kgpu::functions
