// Sends commands to a running state server, e.g. for `kgpu-sim xid …`.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "src/platform/base/status.h"
#include "src/platform/base/unique_fd.h"

namespace kgpu::sim {

// One connection, used by one thread; blocks for at most its time limit.
class ControlClient {
 public:
  // `root` is the folder of the simulated host. Errors: Unavailable (no server answers there).
  static StatusOr<ControlClient> Connect(
      const std::string& root, std::chrono::milliseconds limit = std::chrono::milliseconds(10000));

  ControlClient(ControlClient&&) = default;
  ControlClient& operator=(ControlClient&&) = delete;
  ControlClient(const ControlClient&) = delete;
  ControlClient& operator=(const ControlClient&) = delete;

  // The server's response to one line of command.h. Errors: the server's, PermissionDenied (neither
  // root nor the server's user), Unavailable (connection lost), DeadlineExceeded.
  StatusOr<std::string> Run(std::string_view command_line);

 private:
  explicit ControlClient(UniqueFd fd) : fd_(std::move(fd)) {}

  UniqueFd fd_;
  std::string input_;
};

}  // namespace kgpu::sim
