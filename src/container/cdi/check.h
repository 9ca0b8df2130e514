// Checks whether a host has everything that a CDI specification names.
#pragma once

#include <vector>

#include "src/container/cdi/spec.h"
#include "src/platform/report/finding.h"
#include "src/platform/sys/root.h"

namespace kgpu::cdi {

// Findings: violated rules of CDI (see Validate), device nodes that are missing, are no devices or
// have other numbers than declared, mounts and hooks whose host path is missing. `engine` is the
// file system as the container engine sees it. A finding's subject is a device's name, or empty for
// the edits of all devices. No findings: a container can start with every device.
std::vector<report::Finding> CheckSpec(const Spec& spec, const sys::Root& engine);

}  // namespace kgpu::cdi
