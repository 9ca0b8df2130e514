// Follows the kernel's log for faults of GPUs, from now on or from where it was left.
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
#include "src/platform/base/unique_fd.h"
#include "src/platform/sys/root.h"

namespace kgpu::health {

// Owned by the inventory, lives on the loop's thread. A log that is not there or may not be read is
// tried again for ever.
class KernelLog {
 public:
  using Listener = std::function<void(const KernelFault&)>;

  // `loop` and `host` outlive the log; `listener` may stop it.
  KernelLog(EventLoop& loop, const sys::Root& host, Listener listener)
      : loop_(loop), host_(host), listener_(std::move(listener)) {}
  ~KernelLog() { Stop(); }
  KernelLog(const KernelLog&) = delete;
  KernelLog& operator=(const KernelLog&) = delete;

  // Begins behind the record with the number `after`, or behind all that is in the log. Does
  // nothing when it has begun.
  void Start(std::optional<uint64_t> after = {});
  void Stop();
  // Whoever starts behind this record of this boot misses nothing: the newest that was heard of a
  // fault, or the newest that was there at the start. Nothing while that is not known.
  std::optional<uint64_t> position() const { return position_; }
  // Why it is not read, with the fix; empty while it is, or when it was not started.
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
  bool is_rewound_ = false;   // from its front: records are distinguished by their numbers
  bool is_skipping_ = false;  // all up to the end is old
  size_t skipped_ = 0;
  std::optional<uint64_t> newest_;  // read
  std::optional<uint64_t> position_;
  WatchId watch_ = WatchId::kNone;
  TimerId retry_ = TimerId::kNone;
  std::string problem_;
  std::string logged_;   // the problem that was logged last
  std::string partial_;  // the front of a line whose end has not been read
};

}  // namespace kgpu::health
