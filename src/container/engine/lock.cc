#include "src/container/engine/lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include "src/platform/base/status_macros.h"

namespace kgpu::engine {

StatusOr<UniqueFd> LockFolder(const sys::Root& host, Disk& disk, std::string_view folder,
                              std::string_view who) {
  for (size_t end = folder.find('/', 1); end != std::string_view::npos;
       end = folder.find('/', end + 1)) {
    RETURN_IF_ERROR(disk.MakeFolder(std::string(folder.substr(0, end))));
  }
  RETURN_IF_ERROR(disk.MakeFolder(std::string(folder)));
  ASSIGN_OR_RETURN(UniqueFd held, host.OpenFile(folder, O_RDONLY | O_DIRECTORY));
  if (flock(held.get(), LOCK_EX | LOCK_NB) != 0) {
    return Unavailable("{}: {} works on this host: try again when it is done", host.At(folder),
                       who);
  }
  return held;
}

}  // namespace kgpu::engine
