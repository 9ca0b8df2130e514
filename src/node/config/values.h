// Configuration texts with rules of their own. Pure functions; errors are InvalidArgument with the
// value and the fix.
#pragma once

#include <string_view>

#include "src/platform/base/status.h"

namespace kgpu::config {

// "" (off), "127.0.0.1:9401", "[::1]:9401", ":9401". Addresses only: names are not resolved.
Status CheckHttpAddress(std::string_view address);

// A list of NVIDIA_DRIVER_CAPABILITIES words: "compute,utility", "all".
Status CheckCapabilities(std::string_view list);

// The prefix of a container annotation's key: a domain in lower case and a slash.
Status CheckAnnotationPrefix(std::string_view prefix);

}  // namespace kgpu::config
