// Where the watchdog of a pod listens.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace kgpu::functions {

// The address for a pod's IP: "10.0.0.7:8080", "[fd00::7]:8080", or the path of a unix socket.
using PodAddress = std::function<std::string(std::string_view ip)>;

std::string WatchdogAddress(std::string_view ip);

}  // namespace kgpu::functions
