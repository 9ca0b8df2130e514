#include "src/setup/driver_install/container_headers.h"

#include <filesystem>
#include <vector>

#include <fmt/format.h>

#include "src/host/change/folders.h"
#include "src/platform/base/status_macros.h"
#include "src/setup/driver_install/actions.h"

namespace kgpu::driver_install {
namespace {

// A link at `path` of the container to what the host has there.
Status LinkOne(const sys::Root& host, const sys::Root& container, change::Disk& disk,
               const std::string& path) {
  if (container.LinkStat(path).ok()) {
    return OkStatus();
  }
  RETURN_IF_ERROR(change::MakeFolders(disk, change::MissingFolders(container, path)));
  ASSIGN_OR_RETURN(const std::string real, host.Resolve(path));
  return disk.Link(path, host.At(real));
}

}  // namespace

bool CanLinkHeaders(const sys::Root& host, const sys::Root& container, const std::string& kernel) {
  const std::string build = fmt::format("/lib/modules/{}/build", kernel);
  const auto link = container.ReadLink(build);
  const bool is_linked = link.ok() && link->starts_with(host.path() + "/");
  return host.Exists(build + "/Makefile") && (is_linked || !container.LinkStat(build).ok());
}

StatusOr<bool> LinkHeaders(const sys::Root& host, const sys::Root& container, change::Disk& disk,
                           const std::string& kernel) {
  if (!CanLinkHeaders(host, container, kernel)) {
    return false;
  }
  // Headers name other folders beside them by whole paths: those of Debian two.
  for (const char* folder : {"/usr/src", "/usr/lib"}) {
    for (const std::string& name : host.ListDir(folder).value_or(std::vector<std::string>())) {
      const bool is_wanted =
          folder == std::string_view("/usr/src") || name.starts_with("linux-kbuild-");
      if (is_wanted) {
        RETURN_IF_ERROR(LinkOne(host, container, disk, fmt::format("{}/{}", folder, name)));
      }
    }
  }
  RETURN_IF_ERROR(LinkOne(host, container, disk, fmt::format("/lib/modules/{}/build", kernel)));
  return true;
}

}  // namespace kgpu::driver_install
