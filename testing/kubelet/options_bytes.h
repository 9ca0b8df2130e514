// An Allocate reply as the bytes in the kubelet's checkpoint.
#pragma once

#include <string>

#include "src/platform/base/status.h"
#include "testing/kubelet/plugin_api.h"

namespace kgpu::kubelet {

// Wire form of a ContainerAllocateResponse. Its maps are unordered: equal options may differ in
// bytes.
std::string ToBytes(const ContainerOptions& options);
// Errors: InvalidArgument.
StatusOr<ContainerOptions> OptionsFromBytes(const std::string& bytes);

}  // namespace kgpu::kubelet
