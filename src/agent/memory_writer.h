// Writes the agent's memory as it changes.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "src/platform/base/event_loop.h"

namespace kgpu::agent {

// Lives on the loop's thread, which writes: the file lies in memory (/run), and the thread for
// disks may be waiting for one.
class MemoryWriter {
 public:
  // `print` gives the text that `path` is to have as of now; `problem_changed` is called when
  // problem() is another. `loop` outlives the writer.
  MemoryWriter(EventLoop& loop, std::string path, std::function<std::string()> print,
               std::function<void()> problem_changed);
  ~MemoryWriter();
  MemoryWriter(const MemoryWriter&) = delete;
  MemoryWriter& operator=(const MemoryWriter&) = delete;

  // Something may have changed: it is written as soon as whoever calls this is done, and what
  // changes within 50 ms of that together. A SIGKILL forgets no fault, a storm is few writes.
  void Note();
  // Writes what was noted, now.
  void Flush();
  // Why the memory is not kept, with the fix; empty: it is. Writing is tried again every 10 s.
  const std::string& problem() const { return problem_; }

 private:
  void Arm(std::chrono::nanoseconds pause);
  enum class Outcome : uint8_t { kNothingNew, kWritten, kFailed };
  Outcome Write();

  EventLoop& loop_;
  const std::string path_;
  const std::function<std::string()> print_;
  const std::function<void()> problem_changed_;
  std::string text_;  // as written last
  std::string problem_;
  SteadyTime looked_at_;
  TimerId timer_ = TimerId::kNone;
};

}  // namespace kgpu::agent
