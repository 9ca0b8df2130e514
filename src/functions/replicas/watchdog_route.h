// The way to a watchdog. The folder of its socket belongs to its container, whose handler may put a
// link in the socket's place: to a socket of this host that root may use, and it may not.
#pragma once

#include <string>

#include "src/platform/base/status.h"
#include "src/platform/base/unique_fd.h"
#include "src/platform/net/http/client.h"

namespace kgpu::functions {

// A connection that is being made. `address`: the path of a socket, or "10.0.0.7:8080". Errors:
// those of sys::ConnectUnix and sys::StartConnectTcp; PermissionDenied (it is no socket).
StatusOr<UniqueFd> ConnectToWatchdog(const std::string& address);

// The same way for a call.
http::Route RouteToWatchdog(const std::string& address);

}  // namespace kgpu::functions
