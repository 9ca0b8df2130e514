// CDI device names → what engines do to a container for them.
#pragma once

#include <string>
#include <vector>

#include "src/container/cdi/folder.h"
#include "src/container/cdi/spec.h"
#include "src/platform/base/status.h"

namespace kgpu::kubelet {

// The edits of each device, in the order of `names`, each spec's common edits before those of its
// first device. Errors: FailedPrecondition (a name that no spec declares, or several do; a broken
// spec may be why, and is named).
StatusOr<std::vector<cdi::ContainerEdits>> ResolveCdi(const cdi::FolderContents& contents,
                                                      const std::vector<std::string>& names);

}  // namespace kgpu::kubelet
