// Runs a program beside the event loop: one at a time, with a deadline, its output captured.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "src/platform/base/timer.h"
#include "src/platform/sys/child_run.h"

namespace kgpu::layouts {

// How a program ended.
struct ChildResult {
  std::optional<int> code{};  // nothing: by a signal, at its deadline, or it did not start
  std::string out{};          // at most kMaxChildOutput bytes of each stream; the rest is dropped
  std::string err{};
  std::string problem{};  // why there is no code, for people
};

inline constexpr size_t kMaxChildOutput = size_t{256} << 10;
inline constexpr size_t kMaxChildInput = sys::kMostInput;

// Lives on the loop's thread. At its deadline, the program and what it started get SIGKILL. One
// that survives that is stuck in the kernel: it is reported, and no other one starts until it is
// gone.
class ChildRun {
 public:
  using Done = std::function<void(const ChildResult&)>;

  // `loop` must outlive it.
  explicit ChildRun(EventLoop& loop) : loop_(loop), failure_(loop) {}
  ChildRun(const ChildRun&) = delete;
  ChildRun& operator=(const ChildRun&) = delete;

  // The program reads `input` from its standard input, at most kMaxChildInput bytes. Calls `done`
  // once, later, on the loop. Must not be called while is_running().
  void Start(std::vector<std::string> argv, std::string_view input, std::chrono::seconds deadline,
             Done done);
  bool is_running() const { return done_ != nullptr; }

 private:
  Status TryStart(std::vector<std::string> argv, std::string_view input,
                  std::chrono::seconds deadline);
  void Finish(const ChildResult& result);

  EventLoop& loop_;
  std::unique_ptr<sys::ChildRun> run_;  // also of a program that survived SIGKILL
  Timer failure_;                       // reports that a program did not start
  Done done_;
};

}  // namespace kgpu::layouts
