// Runs kgpu-fnwatch with a worker, and calls it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/net/http/client.h"
#include "src/platform/net/http/message.h"
#include "src/platform/sys/child_process.h"
#include "testing/temp_dir.h"

namespace kgpu::e2e {

// kgpu-fnwatch in the background, on a socket in a folder of its own. Killed on destruction.
class WatchdogRun {
 public:
  struct Settings {
    std::vector<std::string> command;
    std::vector<std::string> environment{};  // besides PATH
    std::vector<std::string> flags{};
  };

  explicit WatchdogRun(const Settings& settings);
  ~WatchdogRun();
  WatchdogRun(const WatchdogRun&) = delete;
  WatchdogRun& operator=(const WatchdogRun&) = delete;

  // Whether a worker became ready; else why not.
  std::string WaitUntilReady();
  // The response, or one with code 0 and the error as its body.
  http::Response Call(const http::Request& request) const;
  http::Response Post(std::string_view path, std::string body) const;
  // A socket that is connected to it.
  UniqueFd Connect() const;
  // What its /_/status says under `key`.
  std::string Status(std::string_view key) const;
  // Everything that it and its workers have printed.
  std::string Log() const { return dir_.ReadFile("log"); }

  pid_t pid() const { return child_->pid(); }
  std::string At(std::string_view name) const { return dir_.At(name); }
  void Signal(int number) const;
  // Waits for its end: "exit code 0", "signal 9", "still running".
  std::string Wait();

 private:
  TempDir dir_;
  UniqueFd log_;
  std::optional<sys::ChildProcess> child_;
};

}  // namespace kgpu::e2e
