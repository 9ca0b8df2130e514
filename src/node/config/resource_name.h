// What extended resources of a node may be called. Pure.
#pragma once

#include <string>
#include <string_view>

#include "src/platform/base/status.h"

namespace kgpu::config {

// Stands for the model of the GPU in a pool's resource name.
inline constexpr std::string_view kModelPlaceholder = "{model}";

// OK when a kubelet takes the name: a lower-case DNS name, one slash, at most 63 letters, digits
// and -_. behind it. Errors: InvalidArgument naming the name, the rule it breaks and the fix.
// Source: the kubelet's ValidatePluginResource, IsExtendedResourceName.
Status CheckResourceName(std::string_view name);

// The same for a name that may hold kModelPlaceholder behind its slash, before the model is known.
Status CheckResourceTemplate(std::string_view name);

// `name` with the placeholder replaced by `model`; what may not stand in a name becomes "-".
std::string ResourceOfModel(std::string_view name, std::string_view model);

// "nvidia.com/mig-1g.10gb", "nvidia.com/mig-1g.10gb.me": what NVIDIA's device plugin calls it.
std::string ResourceOfMigProfile(std::string_view profile);

}  // namespace kgpu::config
