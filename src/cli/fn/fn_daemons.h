// Daemons of this program that a command starts in the background, finds by their sockets, and
// ends.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "src/platform/base/status.h"

namespace kgpu::cli {

// Starts `argv` in a session of its own, with its messages at the end of `log`. It outlives us.
// Returns the number of its process. Errors: those of starting it.
StatusOr<pid_t> StartDaemon(const std::vector<std::string>& argv, const std::string& log);

// Waits until somebody listens on `socket`. Errors: Unavailable (the daemon has ended, with the
// last lines of `log`; or it took longer than `limit`).
Status AwaitSocket(const std::string& socket, pid_t daemon, const std::string& log,
                   std::chrono::milliseconds limit);

// The process that listens on `socket`; 0 if nobody does. Source: SO_PEERCRED of unix(7).
StatusOr<pid_t> ListenerOf(const std::string& socket);

// SIGTERM, then waits for its end. Errors: Unavailable (it does not end within `limit`).
Status EndProcess(pid_t process, std::chrono::milliseconds limit);

}  // namespace kgpu::cli
