// Valid resource names of device plugins.
#pragma once

#include <string_view>

namespace kgpu::kubelet {

// A vendor's domain, one slash, a name; not in kubernetes.io. Source: the contract of the device
// plugin API, "Legal names".
bool IsExtendedResourceName(std::string_view name);

}  // namespace kgpu::kubelet
