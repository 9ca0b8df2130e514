// The content of the pod resources API, as values: who has which device.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "src/platform/base/status.h"
#include "testing/kubelet/device_manager.h"
#include "testing/kubelet/pod.h"

namespace kgpu::kubelet {

// One device on one NUMA node: a device of two nodes is listed twice.
struct ListedDevice {
  std::string resource;
  std::string id;
  std::optional<int64_t> node;
  bool operator==(const ListedDevice&) const = default;
};

struct ListedContainer {
  std::string name;
  std::vector<ListedDevice> devices;
  std::vector<int64_t> cpus;
  // The devices of one claim are adjacent. An entry without a driver is a claim without devices.
  std::vector<ClaimedDevice> claims;
  bool operator==(const ListedContainer&) const = default;
};

struct ListedPod {
  std::string name;
  std::string name_space;
  std::vector<ListedContainer> containers;  // sidecars, then apps
  bool operator==(const ListedPod&) const = default;
};

// `claimed`: the devices of a container's claims, as their drivers prepared them.
ListedPod Listed(
    const PodSpec& pod, const PodDevices& devices,
    const std::function<std::vector<ClaimedDevice>(const ContainerSpec& container)>& claimed);
// Every healthy device of every connected plugin, assigned or not.
std::vector<ListedDevice> ListAllocatable(const ResourceTable& table);

}  // namespace kgpu::kubelet
