// Which names a device plugin may give its resource.
#pragma once

#include <string_view>

namespace kgpu::kubelet {

// A vendor's domain, one slash, a name; nothing of kubernetes.io. Source: the contract of the
// device plugin API, "Legal names".
bool IsExtendedResourceName(std::string_view name);

}  // namespace kgpu::kubelet
