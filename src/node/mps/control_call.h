// Commands to MPS' control daemon: one run of its program, which passes them on and prints the
// answers. Never waits on the loop.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "src/platform/base/unique_fd.h"
#include "src/platform/sys/child_process.h"

namespace kgpu::mps {

struct ControlCallOptions {
  std::vector<std::string> argv;         // argv[0] is the program's path
  std::vector<std::string> environment;  // "NAME=value"; all of it
  std::string commands;                  // lines, at most kMostCommands bytes together
  std::chrono::milliseconds deadline{5'000};
};

// What fits into a pipe, whether somebody reads or not.
inline constexpr size_t kMostCommands = 4'096;

// Lives on the loop's thread. Destroyed before its end, it kills the program, which the loop reaps.
class ControlCall {
 public:
  // What the program printed on both streams. Errors: Unavailable (it failed: says what it
  // printed), DeadlineExceeded (it was killed).
  using Done = std::function<void(StatusOr<std::string>)>;

  // Calls `done` once, never within Start; it may destroy the call. `loop` must outlive it. Errors:
  // those of ChildProcess::Spawn; InvalidArgument (too many commands).
  static StatusOr<std::unique_ptr<ControlCall>> Start(EventLoop& loop,
                                                      const ControlCallOptions& options, Done done);
  ~ControlCall();
  ControlCall(const ControlCall&) = delete;
  ControlCall& operator=(const ControlCall&) = delete;

 private:
  ControlCall(EventLoop& loop, sys::ChildProcess child, UniqueFd output, Done done);
  Status Watch(std::chrono::milliseconds deadline);
  void OnEnd();
  void OnDeadline();
  void Finish(StatusOr<std::string> result);

  EventLoop& loop_;
  sys::ChildProcess child_;
  UniqueFd output_;
  Done done_;
  bool is_late_ = false;
  WatchId watch_ = WatchId::kNone;
  TimerId timer_ = TimerId::kNone;
};

}  // namespace kgpu::mps
