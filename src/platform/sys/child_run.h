// One program beside the event loop: its output, a deadline, and its end. Nothing waits.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "src/platform/base/timer.h"
#include "src/platform/sys/child_process.h"
#include "src/platform/sys/run.h"

namespace kgpu::sys {

// How much is killed with a program. kProgram: nothing else, for one that shares our process group
// and so our terminal; kGroup: all that it started; kLeftovers: that, also when it ends by itself.
enum class KillScope : uint8_t { kProgram, kGroup, kLeftovers };

// Where a program's standard error goes: to RunResult::err, to RunResult::out, or to ours.
enum class ErrorsTo : uint8_t { kErr, kOut, kOurs };

// A program that prints more than the limit runs on, or is killed.
enum class OverLimit : uint8_t { kDrop, kKill };

// The bytes that fit into a pipe whether or not they are read. Source: pipe(7).
inline constexpr size_t kMostInput = size_t{64} << 10;

struct ChildRunRequest {
  std::vector<std::string> argv{};         // argv[0] is the program's path; PATH is not searched
  std::vector<std::string> environment{};  // "NAME=value"; all of it
  std::string input{};                     // at most kMostInput bytes
  std::chrono::milliseconds deadline{10'000};
  // For a killed program to vanish. Only one that is stuck in the kernel takes longer.
  std::chrono::milliseconds grace{5'000};
  size_t output_limit = size_t{1} << 20;  // per stream
  OverLimit over_limit = OverLimit::kDrop;
  KillScope kills = KillScope::kGroup;
  ErrorsTo errors = ErrorsTo::kErr;
};

struct ChildEnd {
  // OK: the program ended by itself, whatever its exit code. Errors: DeadlineExceeded (it was
  // killed, or even survives that), OutOfRange (it printed too much and was killed).
  Status status{};
  RunResult result{};  // `exit` is empty without an exit
};

// Thread: the loop's. Destroyed before its end, it kills the program; the loop reaps it then.
class ChildRun {
 public:
  using Done = std::function<void(ChildEnd)>;

  // Calls `done` once, never within Start; it may destroy the run. A program ends with its process:
  // what it started may keep its output open. `loop` must outlive the run. Errors: those of
  // ChildProcess::Spawn and of pipe2(2); InvalidArgument (too much input).
  static StatusOr<std::unique_ptr<ChildRun>> Start(EventLoop& loop, ChildRunRequest request,
                                                   Done done);
  ~ChildRun();
  ChildRun(const ChildRun&) = delete;
  ChildRun& operator=(const ChildRun&) = delete;

  // Whether the process still exists: after `done`, only one that is stuck in the kernel.
  bool has_process() const { return child_ != nullptr; }
  pid_t pid() const { return pid_; }

 private:
  class Output;

  ChildRun(EventLoop& loop, ChildRunRequest request, Done done);
  Status TryStart();
  Status Watch();
  // Kills the program; its end is reported with `reason`.
  void End(Status reason);
  void OnEnd();
  void Kill();
  void Finish(Status status);

  EventLoop& loop_;
  const ChildRunRequest request_;
  Done done_;
  std::unique_ptr<ChildProcess> child_;  // until it is reaped
  pid_t pid_ = -1;
  WatchId end_watch_ = WatchId::kNone;
  ChildEnd end_;
  std::array<std::unique_ptr<Output>, 2> outputs_;
  Status killed_for_;
  Timer timer_;
};

}  // namespace kgpu::sys
