// Whether a host has everything that a CDI specification names.
#pragma once

#include <string>
#include <vector>

#include "src/container/cdi/spec.h"
#include "src/platform/sys/root.h"

namespace kgpu::cdi {

struct Finding {
  std::string device;  // name of the device; empty for the edits of all devices
  std::string text;    // what is wrong, with path and mend
  bool operator==(const Finding&) const = default;
};

// Broken rules of CDI (see Validate), device nodes that are missing, no devices or have other
// numbers than declared, mounts and hooks whose host path is missing. `engine` is the file system
// as the container engine sees it. Empty: a container can start with every device.
std::vector<Finding> CheckSpec(const Spec& spec, const sys::Root& engine);

}  // namespace kgpu::cdi
