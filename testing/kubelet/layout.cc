#include "testing/kubelet/layout.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "src/platform/base/status_macros.h"

namespace kgpu::kubelet {

namespace fs = std::filesystem;

Status MakeFolders(const Layout& layout) {
  constexpr mode_t kMode = 0750;
  for (const std::string& folder : {layout.root, layout.device_plugins(), layout.plugins_registry(),
                                    layout.plugins(), layout.pod_resources()}) {
    if (mkdir(folder.c_str(), kMode) != 0 && errno != EEXIST) {
      return ErrnoStatus(errno, fmt::format("create folder {}", folder));
    }
  }
  return OkStatus();
}

Status RemoveSockets(const std::string& folder) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code gone;
    if (entry->symlink_status(gone).type() == fs::file_type::socket &&
        unlink(entry->path().c_str()) != 0 && errno != ENOENT) {
      return ErrnoStatus(errno, fmt::format("remove {}", entry->path().string()));
    }
  }
  return error ? ErrnoStatus(error.value(), fmt::format("read {}", folder)) : OkStatus();
}

}  // namespace kgpu::kubelet
