// Copies what NVIDIA's library prints to the probe's standard error into our log, within limits.
#pragma once

#include "src/gpu/probe/output_limit.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "src/platform/base/timer.h"
#include "src/platform/base/unique_fd.h"

namespace kgpu::probe {

// Lives on the loop's thread.
class StderrRelay {
 public:
  // `pipe` is the read end, non-blocking. `loop` must outlive the relay.
  StderrRelay(EventLoop& loop, UniqueFd pipe, const OutputLimits& limits = {});
  // Reads the rest.
  ~StderrRelay();
  StderrRelay(const StderrRelay&) = delete;
  StderrRelay& operator=(const StderrRelay&) = delete;

  Status Watch();

 private:
  // False if there is nothing to read for now; always false at the end of the pipe.
  bool ReadSome();
  void OnReadable();
  void ReportDropped();

  EventLoop& loop_;
  UniqueFd pipe_;
  const OutputLimits limits_;
  OutputLimit limit_;
  WatchId watch_ = WatchId::kNone;
  Timer report_timer_{loop_};
};

}  // namespace kgpu::probe
