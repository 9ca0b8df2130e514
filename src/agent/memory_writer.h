// Writes the agent's saved state when it changes.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "src/platform/base/event_loop.h"
#include "src/platform/base/timer.h"

namespace kgpu::agent {

// Lives on the loop's thread, and writes there: the file is in memory (/run), and the disk thread
// may be waiting for a disk.
class MemoryWriter {
 public:
  // `print` returns the current text for `path`; `problem_changed` is called when problem()
  // changes. `loop` must outlive the writer.
  MemoryWriter(EventLoop& loop, std::string path, std::function<std::string()> print,
               std::function<void()> problem_changed);
  MemoryWriter(const MemoryWriter&) = delete;
  MemoryWriter& operator=(const MemoryWriter&) = delete;

  // Something may have changed: writes as soon as the caller is done, and collects further changes
  // for 50 ms. So a SIGKILL loses no fault, and a storm causes few writes.
  void Note();
  // Writes pending changes now.
  void Flush();
  // Why the state is not saved, with the fix; empty: it is. Retries every 10 s.
  const std::string& problem() const { return problem_; }

 private:
  void Arm(std::chrono::nanoseconds pause);
  enum class Outcome : uint8_t { kNothingNew, kWritten, kFailed };
  Outcome Write();

  EventLoop& loop_;
  const std::string path_;
  const std::function<std::string()> print_;
  const std::function<void()> problem_changed_;
  std::string text_;  // as last written
  std::string problem_;
  SteadyTime looked_at_;
  Timer timer_{loop_};
};

}  // namespace kgpu::agent
