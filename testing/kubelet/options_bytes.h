// An Allocate reply as the bytes that the kubelet's checkpoint keeps of it.
#pragma once

#include <string>

#include "src/platform/base/status.h"
#include "testing/kubelet/plugin_api.h"

namespace kgpu::kubelet {

// Wire form of a ContainerAllocateResponse. Maps have no order in it: equal options may differ in
// bytes.
std::string ToBytes(const ContainerOptions& options);
// Errors: InvalidArgument.
StatusOr<ContainerOptions> OptionsFromBytes(const std::string& bytes);

}  // namespace kgpu::kubelet
