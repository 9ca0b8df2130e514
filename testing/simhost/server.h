// The process behind a simulated host: serves the driver's state and keeps the tree up to date.
#pragma once

#include <string>
#include <vector>

#include "src/platform/base/status.h"

namespace kgpu::simhost {

// Serves the host in `folder` until SIGTERM or SIGINT. `ready_fd` (-1: none) gets one byte once
// clients can connect, and is then closed.
// Errors: NotFound (no host), FailedPrecondition (a server runs already), those of the parts.
Status Serve(const std::string& folder, int ready_fd);

// Starts {program, "serve", FOLDER, …}, with "--ready-fd N" appended, in the background, detached
// from this terminal, with its messages in .kgpu-sim/server.log; returns the pid when clients can
// connect. Errors: Unavailable (it ended or did not become ready; the last message of its log).
StatusOr<int> StartServer(std::vector<std::string> argv, const std::string& folder);

// Stops the server of `folder` and waits until it is gone. Errors: NotFound (none runs),
// DeadlineExceeded (it survived SIGKILL), PermissionDenied.
StatusOr<int> StopServer(const std::string& folder);

}  // namespace kgpu::simhost
