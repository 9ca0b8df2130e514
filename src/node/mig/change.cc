#include "src/node/mig/change.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include "src/host/change/disk.h"
#include "src/host/change/lock.h"
#include "src/node/mig/record.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::mig {

StatusOr<std::vector<Target>> PresentOf(const std::vector<Target>& targets,
                                        const std::vector<HostGpu>& gpus) {
  std::vector<Target> before;
  for (const Target& target : targets) {
    const auto gpu = std::ranges::find(gpus, target.uuid, &HostGpu::uuid);
    if (gpu == gpus.end()) {
      return NotFound("{}: the driver does not list this GPU", target.uuid.str());
    }
    ASSIGN_OR_RETURN(Target present, TargetOf(*gpu));
    before.push_back(std::move(present));
  }
  return before;
}

StatusOr<ChangeLock> ChangeLock::Take(const sys::Root& host) {
  if (signal(SIGPIPE, SIG_IGN) == SIG_ERR) {
    return ErrnoStatus(errno, "ignore SIGPIPE");
  }
  change::HostDisk disk(host);
  ASSIGN_OR_RETURN(UniqueFd fd, change::LockFolder(host, disk, change::kStateFolder,
                                                   "another kgpu that changes this host"));
  return ChangeLock(std::move(fd));
}

Status CarryOut(const sys::Root& host, const std::vector<Target>& before,
                const std::vector<Target>& targets, ApplyDeps deps) {
  ASSIGN_OR_RETURN(const ChangeLock lock, ChangeLock::Take(host));
  change::HostDisk disk(host);
  // One that cannot be read is no reason to refuse the change.
  const auto older = kRecordFile.Read(host, &ParseRecord);
  RETURN_IF_ERROR(kRecordFile.Write(PrintRecord(before), disk));
  Applier applier(std::move(deps));
  Status status = applier.Apply(targets);
  if (status.ok() || applier.has_left_changes() || !older.ok()) {
    return status;
  }
  const auto& former = *older;
  const Status restored =
      former ? kRecordFile.Write(PrintRecord(*former), disk) : kRecordFile.Remove(disk);
  return restored.ok()
             ? status
             : MakeStatus(status.code(), fmt::format("{}; {}", Message(status), Message(restored)));
}

}  // namespace kgpu::mig
