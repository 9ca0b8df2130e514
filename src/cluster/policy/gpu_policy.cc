#include "src/cluster/policy/gpu_policy.h"

#include <algorithm>
#include <array>

#include "src/platform/base/strings.h"

namespace kgpu::policy {

size_t Amount::Of(size_t total, bool rounds_up) const {
  if (!is_percent) {
    return number;
  }
  return (total * number + (rounds_up ? 99 : 0)) / 100;
}

bool IsGpuResource(std::string_view name) {
  return name.starts_with("nvidia.com/") || name.starts_with("kgpu.dev/");
}

std::string_view NameOf(DriverSource source) {
  constexpr std::array<std::string_view, 3> kNames = {"host", "package", "container"};
  return kNames.at(static_cast<size_t>(source));
}

bool IsDriver(std::string_view version, std::string_view target) {
  return version.starts_with(target) &&
         (version.size() == target.size() || version[target.size()] == '.');
}

}  // namespace kgpu::policy
