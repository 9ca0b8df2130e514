// Puts CDI's container edits into an OCI runtime specification as every engine that reads CDI does.
// Source: Apply of pkg/cdi/container-edits.go in cncf-tags/container-device-interface.
#pragma once

#include <cstdint>

#include "src/container/cdi/spec.h"
#include "src/container/oci/spec.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::oci {

// What becomes of bind mounts in a container with a user namespace. CDI's library asks the runtime
// to map their owners ("idmap"), which older kernels and some file systems cannot: the container
// would not start. Files that everybody may read do without.
enum class BindOwners : uint8_t { kMapped, kAsOnHost };

// In CDI's words: a variable replaces the last of its name; a device node replaces one of the same
// path and brings an allow rule; a mount replaces one of the same destination, and all mounts are
// sorted by depth afterwards (a stable sort); hooks, net devices and groups are added. What a
// device node does not say (type, numbers, mode) is read from the host's node below `engine`,
// without following a link and without opening it; owner and group are those of the container's
// process when that is not root. After an error the spec is part edited: throw it away. Errors:
// InvalidArgument (a field of the spec has a wrong type; a node whose type is another on the host),
// NotFound (a node that is needed is missing), Unimplemented (intelRdt).
Status ApplyEdits(Spec& spec, const cdi::ContainerEdits& edits, const sys::Root& engine,
                  BindOwners owners = BindOwners::kMapped);

// How many names deep a path is once cleaned of "//", "." and "..": CDI sorts mounts by it.
size_t DepthOf(std::string_view path);

}  // namespace kgpu::oci
