#include "src/platform/sys/selinux.h"

#include <sys/xattr.h>

#include <fmt/format.h>

#include <cerrno>

namespace kgpu::sys {

Status LabelForContainers(const std::string& path) {
  // With its end, as in the kernel's own labels.
  if (lsetxattr(path.c_str(), kSelinuxAttribute, kContainerLabel.data(), kContainerLabel.size() + 1,
                0) != 0) {
    return ErrnoStatus(errno, fmt::format("label {} as {}", path, kContainerLabel));
  }
  return OkStatus();
}

}  // namespace kgpu::sys
