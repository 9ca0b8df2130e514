// Queries a running stub kubelet, for the commands. Only for the files that use JSON.
#pragma once

#include <boost/json.hpp>

#include <chrono>
#include <string>

#include "src/platform/base/status.h"

namespace kgpu::kubelet {

// The result of a command (service.h) on the kubelet of `folder`. Errors: Unavailable (none runs:
// says how to start it), the kubelet's.
StatusOr<boost::json::value> Ask(const std::string& folder, const boost::json::object& request,
                                 std::chrono::milliseconds limit = std::chrono::seconds(20));

}  // namespace kgpu::kubelet
