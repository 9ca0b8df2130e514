// Commands to MPS' control daemon: one run of its program, which passes them on and prints the
// answers. Never waits on the loop.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/child_run.h"

namespace kgpu::mps {

struct ControlCallOptions {
  std::vector<std::string> argv;         // argv[0] is the program's path
  std::vector<std::string> environment;  // "NAME=value"; all of it
  std::string commands;                  // lines, at most kMostCommands bytes together
  std::chrono::milliseconds deadline{5'000};
};

inline constexpr size_t kMostCommands = sys::kMostInput;

// Lives on the loop's thread. Destroyed before its end, it kills the program, which the loop reaps.
class ControlCall {
 public:
  // The output of the program, both streams. Errors: Unavailable (it failed, with its output),
  // DeadlineExceeded (it was killed).
  using Done = std::function<void(StatusOr<std::string>)>;

  // Calls `done` once, never within Start; it may destroy the call. `loop` must outlive it. Errors:
  // those of ChildRun::Start.
  static StatusOr<std::unique_ptr<ControlCall>> Start(EventLoop& loop,
                                                      const ControlCallOptions& options, Done done);

 private:
  explicit ControlCall(std::unique_ptr<sys::ChildRun> run) : run_(std::move(run)) {}

  std::unique_ptr<sys::ChildRun> run_;
};

}  // namespace kgpu::mps
