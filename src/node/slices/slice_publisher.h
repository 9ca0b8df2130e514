// Keeps the files that containers with memory slices get in step with the assignment.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "src/node/pods/watch.h"
#include "src/node/slices/slice_files.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/lifetime.h"
#include "src/platform/base/timer.h"

namespace kgpu::slices {

// Lives on the loop's thread; writes on the thread of `background`. Looks at the files again every
// minute, and sooner after a failure.
class SlicePublisher {
 public:
  // Nothing: being written. Errors: those of WriteSliceFiles.
  using Paths = std::optional<StatusOr<sharing::SlicePaths>>;

  // Calls `changed` on the loop when paths() has changed. `loop` must outlive it.
  SlicePublisher(EventLoop& loop, pods::Background background, slices::SliceFilesOptions options,
                 std::function<void()> changed);
  SlicePublisher(const SlicePublisher&) = delete;
  SlicePublisher& operator=(const SlicePublisher&) = delete;

  // Does nothing if these are the slots of the last call. Those in `new_tenants` get new ledgers:
  // WriteSliceFiles.
  void Set(std::vector<slices::SliceSlot> slots, const std::set<std::string>& new_tenants = {});
  const Paths& paths() const { return paths_; }
  // Why containers cannot get slices; empty: they can, or there are none.
  std::string problem() const;

 private:
  void Write();
  void Take(uint64_t round, StatusOr<sharing::SlicePaths> paths);
  void WriteAfter(std::chrono::seconds time);

  EventLoop& loop_;
  const pods::Background background_;
  const slices::SliceFilesOptions options_;
  const std::function<void()> changed_;
  std::vector<slices::SliceSlot> slots_;
  std::set<std::string> new_tenants_;  // until their ledgers are there
  Paths paths_;
  uint64_t round_ = 0;  // of the slots that are being written
  Timer timer_{loop_};
  Lifetime lifetime_;
};

}  // namespace kgpu::slices
