// A real Redis server of a test's own: a folder, a unix socket, no port.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/platform/base/status.h"
#include "src/platform/sys/child_process.h"
#include "testing/temp_dir.h"

namespace kgpu {

class RedisServer {
 public:
  // Whether the program is installed (Debian's redis-tools); without it, tests skip.
  static bool IsInstalled();

  RedisServer() = default;
  // Kills it.
  ~RedisServer();
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;

  // Starts it, also after Kill, with what it had on its disk; returns when it answers. `flags`
  // come after ours: {"--maxmemory", "10mb"}.
  Status Start(const std::vector<std::string>& flags = {});
  // SIGKILL.
  void Kill();
  // Stops it without an end (SIGSTOP): connections stay open, and nothing answers; and continues.
  void Freeze();
  void Thaw();

  std::string socket() const { return dir_.At("redis.sock"); }
  std::string url() const { return "unix://" + socket(); }

 private:
  TempDir dir_;
  std::optional<sys::ChildProcess> process_;
};

}  // namespace kgpu
