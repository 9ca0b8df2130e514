// The files of lent memory slices: a loan is answered once its container can start.
#pragma once

#include <functional>
#include <vector>

#include "src/agent/slice_publisher.h"
#include "src/node/loans/ledger.h"
#include "src/node/pods/watch.h"
#include "src/node/share/slice_files.h"
#include "src/platform/base/event_loop.h"

namespace kgpu::agent {

// Lives on the loop's thread. Its folder is its own: what is not lent any more is removed when
// something else is lent, since loans come and go all day.
class LoanFiles {
 public:
  using Done = std::function<void(const StatusOr<share::SlicePaths>&)>;

  // `loop`, and what `background` runs on, must outlive it.
  LoanFiles(EventLoop& loop, pods::Background background, share::SliceFilesOptions options);
  LoanFiles(const LoanFiles&) = delete;
  LoanFiles& operator=(const LoanFiles&) = delete;

  // Makes the files of what is lent. Does nothing if that has not changed.
  void Set(const loans::Ledger& ledger);
  // Calls `done` once the files of what was set last are there: at once, or later. Errors: those of
  // WriteSliceFiles, ResourceExhausted (too many wait), Unavailable (nothing is lent any more).
  void WhenWritten(Done done);

  // Of the mounts, whether the files are there or not.
  const share::SlicePaths& paths() const { return paths_; }
  // Why containers cannot get lent slices; empty: they can, or none is lent.
  std::string problem() const { return publisher_.problem(); }

 private:
  // By value: what it calls may change where the paths come from.
  void Tell(StatusOr<share::SlicePaths> paths);

  const share::SlicePaths paths_;
  std::vector<Done> waiting_;
  SlicePublisher publisher_;
};

}  // namespace kgpu::agent
