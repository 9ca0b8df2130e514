// Follows the kernel log for GPU faults, from now on or from where the last run stopped.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "src/gpu/health/kernel_line.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/timer.h"
#include "src/platform/base/unique_fd.h"
#include "src/platform/sys/root.h"

namespace kgpu::health {

// Owned by the inventory, lives on the loop's thread. If the log is missing or unreadable, keeps
// retrying.
class KernelLog {
 public:
  using Listener = std::function<void(const KernelFault&)>;

  // `loop` and `host` must outlive the log; `listener` may stop it.
  KernelLog(EventLoop& loop, const sys::Root& host, Listener listener)
      : loop_(loop), host_(host), listener_(std::move(listener)) {}
  ~KernelLog() { Stop(); }
  KernelLog(const KernelLog&) = delete;
  KernelLog& operator=(const KernelLog&) = delete;

  // Starts after the record with the number `after`, or after everything in the log. Does nothing
  // if it has already started.
  void Start(std::optional<uint64_t> after = {});
  void Stop();
  // A later start after this record of this boot misses nothing: it is the newest record reported
  // as a fault, or the newest one at the start. Nothing while unknown.
  std::optional<uint64_t> position() const { return position_; }
  // Why the log is not read, with the fix; empty while it is read, or if it was not started.
  const std::string& problem() const { return problem_; }

 private:
  Status Open();
  void Read();
  void Take(std::string_view bytes);
  void TakeRecord(std::string_view record);
  void EndSkipping();
  void Fail(const Status& status);
  void Close();

  EventLoop& loop_;
  const sys::Root& host_;
  Listener listener_;
  bool is_started_ = false;
  UniqueFd fd_;
  bool is_rewound_ = false;   // reads from its start: record numbers tell old from new
  bool is_skipping_ = false;  // everything up to the end is old
  size_t skipped_ = 0;
  std::optional<uint64_t> newest_;  // the newest record read
  std::optional<uint64_t> position_;
  WatchId watch_ = WatchId::kNone;
  Timer retry_{loop_};
  std::string problem_;
  std::string logged_;   // the problem that was logged last
  std::string partial_;  // the start of a line whose end has not been read
};

}  // namespace kgpu::health
