// Applies CDI's container edits to an OCI runtime specification, as every engine that reads CDI
// does. Source: Apply of pkg/cdi/container-edits.go in cncf-tags/container-device-interface.
#pragma once

#include <cstdint>

#include "src/container/cdi/spec.h"
#include "src/container/oci/spec.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::oci {

// How to treat bind mounts in a container with a user namespace. CDI's library asks the runtime to
// map their owners ("idmap"), which older kernels and some file systems do not support: the
// container would not start. World-readable files do not need it.
enum class BindOwners : uint8_t { kMapped, kAsOnHost };

// CDI's rules: a variable replaces the last one of its name; a device node replaces one of the same
// path and adds an allow rule; a mount replaces one of the same destination, then all mounts are
// sorted by depth (stable); hooks, net devices and groups are appended. Missing fields of a device
// node (type, numbers, mode) are read from the host's node below `engine`, without following a link
// and without opening it; owner and group are those of the container's process unless that is root.
// After an error the spec is partly edited: discard it. Errors: InvalidArgument (a field of the
// spec has a wrong type; a node has another type on the host), NotFound (a required node is
// missing), Unimplemented (intelRdt).
Status ApplyEdits(Spec& spec, const cdi::ContainerEdits& edits, const sys::Root& engine,
                  BindOwners owners = BindOwners::kMapped);

// The number of names in a path after cleaning "//", "." and "..": CDI sorts mounts by it.
size_t DepthOf(std::string_view path);

}  // namespace kgpu::oci
