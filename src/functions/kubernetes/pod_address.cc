#include "src/functions/kubernetes/pod_address.h"

#include <fmt/format.h>

#include "src/functions/manifests/objects.h"

namespace kgpu::functions {

std::string WatchdogAddress(std::string_view ip) {
  return ip.find(':') == std::string_view::npos ? fmt::format("{}:{}", ip, kFunctionHttpPort)
                                                : fmt::format("[{}]:{}", ip, kFunctionHttpPort);
}

}  // namespace kgpu::functions
