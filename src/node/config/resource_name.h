// Valid names for a node's extended resources. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "src/platform/base/status.h"

namespace kgpu::config {

// Stands for the GPU's model in a pool's resource name.
inline constexpr std::string_view kModelPlaceholder = "{model}";
// Stands for the size of a memory slice.
inline constexpr std::string_view kSizePlaceholder = "{size}";

// OK if a kubelet accepts the name: a lower-case DNS name, one slash, then at most 63 letters,
// digits and -_. characters. Errors: InvalidArgument with the name, the violated rule and the fix.
// Source: the kubelet's ValidatePluginResource, IsExtendedResourceName.
Status CheckResourceName(std::string_view name);

// The same for a name that may contain the placeholders after its slash, without a model and size
// yet.
Status CheckResourceTemplate(std::string_view name);

// `name` with the placeholder replaced by `model`; invalid characters become "-".
std::string ResourceOfModel(std::string_view name, std::string_view model);

// `name` with the placeholder replaced by `size`, which is valid in a name: "20gi".
std::string ResourceOfSize(std::string_view name, std::string_view size);

// "nvidia.com/mig-1g.10gb", "nvidia.com/mig-1g.10gb.me": the name in NVIDIA's device plugin.
std::string ResourceOfMigProfile(std::string_view profile);

}  // namespace kgpu::config
