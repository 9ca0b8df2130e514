// Texts of the configuration that have rules of their own. Pure; errors are InvalidArgument and
// name the value and the fix.
#pragma once

#include <string_view>

#include "src/platform/base/status.h"

namespace kgpu::config {

// "" (off), "127.0.0.1:9401", "[::1]:9401", ":9401". Names are not looked up: addresses only.
Status CheckHttpAddress(std::string_view address);

// A list of words of NVIDIA_DRIVER_CAPABILITIES: "compute,utility", "all".
Status CheckCapabilities(std::string_view list);

// The front of a container annotation's key: a domain in lower case and a slash.
Status CheckAnnotationPrefix(std::string_view prefix);

}  // namespace kgpu::config
