// The files of lent memory slices: a loan is answered once its container can start.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "src/node/loans/ledger.h"
#include "src/node/pods/watch.h"
#include "src/node/slices/slice_files.h"
#include "src/node/slices/slice_publisher.h"
#include "src/platform/base/event_loop.h"

namespace kgpu::loans {

// Lives on the loop's thread. Its folder is its own: what is not lent any more is removed when
// something else is lent, since loans come and go all day.
class LoanFiles {
 public:
  using Done = std::function<void(const StatusOr<sharing::SlicePaths>&)>;

  // `loop`, and what `background` runs on, must outlive it.
  LoanFiles(EventLoop& loop, pods::Background background, slices::SliceFilesOptions options);
  LoanFiles(const LoanFiles&) = delete;
  LoanFiles& operator=(const LoanFiles&) = delete;

  // Makes the files of what is lent. Does nothing if that has not changed. A slot that was not lent
  // gets a new ledger; at the first call, loans of an earlier agent keep theirs.
  void Set(const loans::Ledger& ledger);
  // Calls `done` once the files of what was set last are there: at once, or later. Errors: those of
  // WriteSliceFiles, ResourceExhausted (too many wait), Unavailable (nothing is lent any more).
  void WhenWritten(Done done);

  // Of the mounts, whether the files are there or not.
  const sharing::SlicePaths& paths() const { return paths_; }
  // Why containers cannot get lent slices; empty: they can, or none is lent.
  std::string problem() const { return publisher_.problem(); }

 private:
  // By value: what it calls may change where the paths come from.
  void Tell(StatusOr<sharing::SlicePaths> paths);

  const sharing::SlicePaths paths_;
  std::vector<Done> waiting_;
  std::optional<std::set<std::string>> lent_;  // slots, as set last
  slices::SlicePublisher publisher_;
};

}  // namespace kgpu::loans
