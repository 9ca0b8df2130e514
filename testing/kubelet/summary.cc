#include "testing/kubelet/summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

namespace kgpu::kubelet {

std::string Summary(const PluginOptions& options) {
  return fmt::format("pre_start_required={} get_preferred_allocation_available={}",
                     options.pre_start_required, options.has_preferred_allocation);
}

std::string Summary(const std::vector<Device>& devices) {
  const auto healthy = std::ranges::count(devices, kHealthy, &Device::health);
  std::string text = fmt::format("{} devices, {} healthy", devices.size(), healthy);
  for (const Device& device : devices) {
    if (device.health != kHealthy) {
      fmt::format_to(std::back_inserter(text), " {}={}", device.id, device.health);
    }
  }
  return text;
}

std::string Summary(const std::vector<std::string>& ids) {
  return fmt::format("[{}]", fmt::join(ids, " "));
}

std::string Summary(const PreferredRequest& request) {
  return fmt::format("size={} must_include={} available={}", request.size,
                     Summary(request.must_include), Summary(request.available));
}

std::string Summary(const ContainerOptions& options) {
  std::string text;
  const auto add = [&text](const char* what, size_t count) {
    if (count > 0) {
      fmt::format_to(std::back_inserter(text), "{}{}={}", text.empty() ? "" : " ", what, count);
    }
  };
  add("envs", options.envs.size());
  add("mounts", options.mounts.size());
  add("devices", options.devices.size());
  add("annotations", options.annotations.size());
  if (!options.cdi_devices.empty()) {
    fmt::format_to(std::back_inserter(text), "{}cdi_devices={}", text.empty() ? "" : " ",
                   Summary(options.cdi_devices));
  }
  return text.empty() ? "nothing" : text;
}

}  // namespace kgpu::kubelet
