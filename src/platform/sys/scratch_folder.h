// A folder for files that a command needs while it runs.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "src/platform/base/status.h"
#include "src/platform/base/unique_fd.h"
#include "src/platform/sys/end_signals.h"
#include "src/platform/sys/root.h"

namespace kgpu::sys {

// Removed with all that is in it when this object is destroyed. A signal that asks us to end waits
// for that, so programs that fill the folder should be run with `leads_session`, which ends them.
class ScratchFolder {
 public:
  // "NAME-XXXXXX" in `parent`, a folder of `root`; only its user can enter it. Errors: NotFound,
  // PermissionDenied and what else mkdtemp gives.
  static StatusOr<std::unique_ptr<ScratchFolder>> Make(const Root& root, std::string_view parent,
                                                       std::string_view name);
  // Removes folders of that name that a process left behind which was killed. Those of processes
  // that run are locked, and stay.
  static void RemoveAbandoned(const Root& root, const std::string& parent, std::string_view name);

  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::string& path() const { return path_; }      // as this process sees it
  const std::string& inside() const { return inside_; }  // below the root

 private:
  ScratchFolder() = default;

  EndSignals signals_;  // the last to be destroyed
  UniqueFd lock_;
  std::string path_;
  std::string inside_;
};

}  // namespace kgpu::sys
