// Labels of SELinux on files.
#pragma once

#include <string>
#include <string_view>

#include "src/platform/base/status.h"

namespace kgpu::sys {

inline constexpr char kSelinuxAttribute[] = "security.selinux";
// What engines give to files of images, for containers of any category. Source: container-selinux,
// container_file_t.
inline constexpr std::string_view kContainerLabel = "system_u:object_r:container_file_t:s0";

// Errors: those of lsetxattr(2).
Status LabelForContainers(const std::string& path);

}  // namespace kgpu::sys
