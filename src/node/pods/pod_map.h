// Who uses the GPUs of this node: which devices the kubelet gave to which container, and which
// container a process is in. A value; built off the request path.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace kgpu::pods {

// Identified by namespace, pod and container; the UID may be learnt later.
struct Container {
  std::string pod_namespace{};
  std::string pod{};
  std::string container{};  // empty: only the pod is known
  std::string pod_uid{};    // empty: only the kubelet's list knows the pod
  auto operator<=>(const Container&) const = default;
};

// The device of a resource claim (DRA), by its driver's name. Empty: there is no claim.
struct ClaimedDevice {
  std::string claim_namespace{};
  std::string claim{};
  std::string driver{};  // "gpu.nvidia.com"
  std::string pool{};
  std::string device{};    // "gpu-2"
  std::string cdi_uuid{};  // of the only device of the claim, where its CDI id has one: "MIG-…"
  auto operator<=>(const ClaimedDevice&) const = default;
};

// A device that a container holds. Source: podresources v1 List.
struct DeviceUse {
  std::string resource{};   // "nvidia.com/gpu"; of a claim its driver
  std::string device_id{};  // as the plugin named it: "GPU-…", "MIG-…", "GPU-…::3"
  Container user{};
  ClaimedDevice claim{};
  bool is_claimed() const { return !claim.driver.empty(); }
  auto operator<=>(const DeviceUse&) const = default;
};

struct PodMap {
  std::vector<DeviceUse> devices{};  // sorted
  // By PID of the host; processes outside pods are left out.
  std::map<uint32_t, Container> processes{};
  // UUIDs of devices on which a process of a pod runs, with one such container. A kubelet that has
  // just started may list no pods while their processes run.
  std::map<std::string, Container> in_use{};
  std::string problem{};  // why it is incomplete, for people; empty: it is complete
  bool operator==(const PodMap&) const = default;
};

using PodMapPtr = std::shared_ptr<const PodMap>;

// "GPU-…::3" → "GPU-…": the device of a replica's id; other ids are the device itself.
std::string_view DeviceOf(std::string_view device_id);

// Containers to which the kubelet gave `device_uuid`: a whole GPU, replicas of it, or a MIG device;
// sorted, without duplicates. Users of a GPU's MIG devices are not users of the GPU.
std::vector<Container> UsersOf(const PodMap& map, std::string_view device_uuid);

}  // namespace kgpu::pods
