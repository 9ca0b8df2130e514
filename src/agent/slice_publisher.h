// Keeps the files that containers with memory slices get in step with the assignment.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/node/pods/watch.h"
#include "src/node/share/slice_files.h"
#include "src/platform/base/event_loop.h"

namespace kgpu::agent {

// Lives on the loop's thread; writes on the thread of `background`. Looks at the files again every
// minute, and sooner after a failure.
class SlicePublisher {
 public:
  // Nothing: being written. Errors: those of WriteSliceFiles.
  using Paths = std::optional<StatusOr<share::SlicePaths>>;

  // Calls `changed` on the loop when paths() has changed. `loop` must outlive it.
  SlicePublisher(EventLoop& loop, pods::Background background, share::SliceFilesOptions options,
                 std::function<void()> changed);
  ~SlicePublisher();
  SlicePublisher(const SlicePublisher&) = delete;
  SlicePublisher& operator=(const SlicePublisher&) = delete;

  // Does nothing if these are the slots of the last call.
  void Set(std::vector<share::SliceSlot> slots);
  const Paths& paths() const { return paths_; }
  // Why containers cannot get slices; empty: they can, or there are none.
  std::string problem() const;

 private:
  void Write();
  void Take(uint64_t round, StatusOr<share::SlicePaths> paths);
  void WriteAfter(std::chrono::seconds time);

  EventLoop& loop_;
  const pods::Background background_;
  const share::SliceFilesOptions options_;
  const std::function<void()> changed_;
  std::vector<share::SliceSlot> slots_;
  Paths paths_;
  uint64_t round_ = 0;  // of the slots that are being written
  TimerId timer_ = TimerId::kNone;
  // Destroyed with the publisher: a later answer is ignored.
  std::shared_ptr<SlicePublisher*> self_;
};

}  // namespace kgpu::agent
