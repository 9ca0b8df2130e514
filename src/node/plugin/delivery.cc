#include "src/node/plugin/delivery.h"

#include <algorithm>
#include <array>
#include <string>

namespace kgpu::plugin {
namespace {

using config::DeviceListStrategy;

// The kernel's /run and the older /var/run are one folder.
std::string_view WithoutVar(std::string_view folder) {
  return folder.starts_with("/var/run/") ? folder.substr(4) : folder;
}

bool Reads(const cri::RuntimeFacts& runtime, std::string_view folder) {
  return runtime.cdi_folders.empty() ||
         std::ranges::any_of(runtime.cdi_folders, [&](const std::string& read) {
           return WithoutVar(read) == WithoutVar(folder);
         });
}

void Choose(const StatusOr<cri::RuntimeFacts>& runtime, const Status& cdi,
            std::string_view cdi_folder, Delivery& delivery) {
  delivery.strategies = {DeviceListStrategy::kDeviceSpecs, DeviceListStrategy::kMounts};
  if (!runtime.ok()) {
    delivery.reason =
        fmt::format("no runtime reports that CDI is enabled: {}", Message(runtime.status()));
  } else if (!runtime->reads_cdi) {
    delivery.reason = runtime->evidence;
  } else if (!Reads(*runtime, cdi_folder)) {
    delivery.reason = fmt::format("{}, but it does not read {}", runtime->evidence, cdi_folder);
  } else if (!cdi.ok()) {
    delivery.reason =
        fmt::format("{}, but the CDI specs are missing: {}", runtime->evidence, Message(cdi));
  } else {
    delivery.strategies = {DeviceListStrategy::kCdiCri};
    delivery.reason = runtime->evidence;
  }
  if (runtime.ok() && runtime->is_nvidia_default) {
    delivery.reason +=
        "; its default runtime is NVIDIA's, which NVIDIA_VISIBLE_DEVICES=void disables";
  }
}

}  // namespace

Delivery DecideDelivery(const config::PluginConfig& config,
                        const StatusOr<cri::RuntimeFacts>& runtime, const Status& cdi,
                        std::string_view cdi_folder) {
  Delivery delivery;
  delivery.device_ids = config.device_ids;
  delivery.cdi_annotation_prefix = config.cdi_annotation_prefix;
  delivery.strategies = {config.strategies.begin(), config.strategies.end()};
  if (delivery.strategies.empty() || delivery.strategies.contains(DeviceListStrategy::kAuto)) {
    Choose(runtime, cdi, cdi_folder, delivery);
  } else {
    delivery.reason = "set by plugin.deviceListStrategy";
  }
  return delivery;
}

std::string ToString(const std::set<DeviceListStrategy>& strategies) {
  constexpr std::array<std::string_view, 7> kNames = {
      "Auto", "CdiCri", "CdiAnnotations", "Envvar", "VolumeMounts", "DeviceSpecs", "Mounts"};
  std::string text;
  for (const DeviceListStrategy strategy : strategies) {
    text += text.empty() ? "" : "+";
    text += kNames[static_cast<size_t>(strategy)];
  }
  return text;
}

}  // namespace kgpu::plugin
