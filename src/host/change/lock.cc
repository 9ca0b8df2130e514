#include "src/host/change/lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include "src/host/change/folders.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::change {

StatusOr<UniqueFd> LockFolder(const sys::Root& host, Disk& disk, std::string_view folder,
                              std::string_view who) {
  RETURN_IF_ERROR(MakeFoldersAbove(disk, std::string(folder)));
  RETURN_IF_ERROR(disk.MakeFolder(std::string(folder)));
  ASSIGN_OR_RETURN(UniqueFd held, host.OpenFile(folder, O_RDONLY | O_DIRECTORY));
  if (flock(held.get(), LOCK_EX | LOCK_NB) != 0) {
    return Unavailable("{}: {} is running on this host: try again when it is done", host.At(folder),
                       who);
  }
  return held;
}

}  // namespace kgpu::change
