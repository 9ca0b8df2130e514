// Carries out a layout change that was planned: under the lock of all programs that change this
// host, recorded for `kgpu mig rollback`, and undone if it fails.
#pragma once

#include <utility>
#include <vector>

#include "src/node/mig/apply.h"
#include "src/node/mig/host.h"
#include "src/platform/base/status.h"
#include "src/platform/base/unique_fd.h"
#include "src/platform/sys/root.h"

namespace kgpu::mig {

// The lock of all programs that change this host. Ignores SIGPIPE from now on: a reader of our
// output may end, and the change is finished or undone all the same.
class ChangeLock {
 public:
  // Errors: Unavailable (another program changes this host), those of the disk.
  static StatusOr<ChangeLock> Take(const sys::Root& host);

 private:
  explicit ChangeLock(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

// The present layouts of the targets' GPUs. Errors: NotFound, those of TargetOf.
StatusOr<std::vector<Target>> PresentOf(const std::vector<Target>& targets,
                                        const std::vector<HostGpu>& gpus);

// Writes `before` to kRecordFile ahead of the first change. A change that failed and was undone
// leaves the older record, so that `kgpu mig rollback` can still restore what that one has. Errors:
// those of ChangeLock, of Applier and of the disk.
Status CarryOut(const sys::Root& host, const std::vector<Target>& before,
                const std::vector<Target>& targets, ApplyDeps deps);

}  // namespace kgpu::mig
