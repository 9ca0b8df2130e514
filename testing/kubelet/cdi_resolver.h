// Resolves CDI device names to the edits that engines make to a container.
#pragma once

#include <string>
#include <vector>

#include "src/container/cdi/folder.h"
#include "src/container/cdi/spec.h"
#include "src/platform/base/status.h"

namespace kgpu::kubelet {

// The edits of each device, in the order of `names`, with each spec's common edits before those of
// its first device. Errors: FailedPrecondition (no spec declares a name, or several do; names an
// invalid spec that may be the reason).
StatusOr<std::vector<cdi::ContainerEdits>> ResolveCdi(const cdi::FolderContents& contents,
                                                      const std::vector<std::string>& names);

}  // namespace kgpu::kubelet
