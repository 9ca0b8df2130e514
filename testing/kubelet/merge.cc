#include "testing/kubelet/merge.h"

#include <fmt/format.h>

#include <algorithm>

namespace kgpu::kubelet {
namespace {

using Texts = std::vector<std::string>;

void MergeMap(std::map<std::string, std::string>& into,
              const std::map<std::string, std::string>& from, const char* what, Texts& dropped) {
  for (const auto& [key, value] : from) {
    const auto [place, is_new] = into.emplace(key, value);
    if (!is_new && place->second != value) {
      dropped.push_back(
          fmt::format("{} {}: \"{}\" instead of \"{}\"", what, key, value, place->second));
    }
  }
}

// Only the host's path decides whether two values differ, as in the kubelet.
template <typename T>
void MergePaths(std::vector<T>& into, const std::vector<T>& from, const char* what,
                Texts& dropped) {
  for (const T& item : from) {
    const auto old = std::ranges::find(into, item.container_path, &T::container_path);
    if (old == into.end()) {
      into.push_back(item);
    } else if (old->host_path != item.host_path) {
      dropped.push_back(fmt::format("{} {}: {} instead of {}", what, item.container_path,
                                    item.host_path, old->host_path));
    }
  }
}

}  // namespace

Texts MergeInto(ContainerOptions& into, const ContainerOptions& from) {
  Texts dropped;
  MergeMap(into.envs, from.envs, "env", dropped);
  MergePaths(into.mounts, from.mounts, "mount", dropped);
  MergePaths(into.devices, from.devices, "device", dropped);
  MergeMap(into.annotations, from.annotations, "annotation", dropped);
  for (const std::string& name : from.cdi_devices) {
    if (std::ranges::find(into.cdi_devices, name) == into.cdi_devices.end()) {
      into.cdi_devices.push_back(name);
    }
  }
  return dropped;
}

}  // namespace kgpu::kubelet
