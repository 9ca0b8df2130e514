#include "src/node/pods/join.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace kgpu::pods {
namespace {

// The deepest paths allowed, for each of the controllers of cgroup v1.
constexpr size_t kCgroupLimit = size_t{64} << 10;
// Limit for one node; the probe reports up to 256 for each GPU.
constexpr size_t kMostProcesses = 4'096;

std::optional<std::vector<CgroupPlace>> ReadPlaces(std::string_view pid, const sys::Root& host) {
  const auto text = host.ReadFile(fmt::format("proc/{}/cgroup", pid), kCgroupLimit);
  if (!text.ok()) {
    return std::nullopt;
  }
  return PlacesOf(*text);
}

// The innermost, which is one of this node; empty: none.
std::string PodOf(const std::vector<CgroupPlace>& places) {
  std::string pod;
  for (const CgroupPlace& place : places) {
    pod = place.pod_uid.empty() ? pod : place.pod_uid;
  }
  return pod;
}

// The MIG device of a process, or the GPU.
std::string DeviceOfProcess(const device::GpuSample& gpu, const device::ProcessSample& process) {
  const auto mig = std::ranges::find_if(gpu.migs, [&](const device::MigSample& candidate) {
    return candidate.gpu_instance == process.gpu_instance &&
           candidate.compute_instance == process.compute_instance.value_or(0);
  });
  return mig == gpu.migs.end() ? gpu.uuid.str() : mig->uuid.str();
}

PodName NameOf(const Container& container) {
  return {container.pod_namespace, container.pod};
}

std::string KeyOf(const CgroupPlace& place) {
  return fmt::format("{}/{}", place.pod_uid, place.container_id);
}

std::vector<DeviceUse> UsesInForce(const std::vector<DeviceUse>& uses,
                                   const ContainerIndex& index) {
  std::map<std::pair<std::string_view, std::string_view>, std::set<PodName>> pods;
  for (const DeviceUse& use : uses) {
    if (!use.is_claimed()) {
      pods[{use.resource, use.device_id}].insert(NameOf(use.user));
    }
  }
  std::vector<DeviceUse> in_force;
  in_force.reserve(uses.size());
  for (const DeviceUse& use : uses) {
    // Pods may share a claim.
    const std::set<PodName>& rivals = pods[{use.resource, use.device_id}];
    const bool is_disputed =
        rivals.size() > 1 &&
        std::ranges::any_of(rivals, [&index](const PodName& pod) { return index.IsRunning(pod); });
    if (is_disputed && !index.IsRunning(NameOf(use.user))) {
      continue;
    }
    in_force.push_back(use);
    in_force.back().user.pod_uid = index.UidOf(NameOf(use.user));
  }
  return in_force;
}

// Containers by the device that they were given.
using UsersByDevice = std::map<std::string_view, std::set<Container>>;

// The only container of `pod` (null: of any) that was given a device of `process`.
std::optional<Container> OnlyUser(const SeenProcess& process, const UsersByDevice& users,
                                  const Container* pod) {
  std::set<Container> found;
  for (const std::string& device : process.devices) {
    const auto of_device = users.find(device);
    if (of_device == users.end()) {
      continue;
    }
    for (const Container& user : of_device->second) {
      if (pod == nullptr || NameOf(user) == NameOf(*pod)) {
        found.insert(user);
      }
    }
  }
  return found.size() == 1 ? std::optional(*found.begin()) : std::nullopt;
}

// Whether a process that is in no container we know may be one of `user`. What the runtime does not
// know is not a pod's, or no longer: a process that the driver holds may outlive its pod.
bool MayBeOf(const Container& user, const SeenProcess& process, const ContainerIndex& index) {
  if (!process.places) {
    return true;
  }
  if (process.places->empty() || index.has_runtime()) {
    return false;
  }
  return user.pod_uid.empty() ||
         std::ranges::any_of(*process.places, [&user](const CgroupPlace& place) {
           return place.pod_uid.empty() || place.pod_uid == user.pod_uid;
         });
}

std::optional<Container> OwnerOf(const SeenProcess& process, const ContainerIndex& index,
                                 const UsersByDevice& users) {
  std::optional<Container> owner =
      process.places ? index.Find(*process.places) : std::optional<Container>();
  if (!owner) {
    owner = OnlyUser(process, users, nullptr);
    return owner && MayBeOf(*owner, process, index) ? owner : std::nullopt;
  }
  if (owner->container.empty()) {
    if (const auto only = OnlyUser(process, users, &*owner)) {
      owner->container = only->container;
    }
  }
  return owner;
}

}  // namespace

std::vector<SeenProcess> ListedProcesses(const device::SampleSet& samples) {
  std::map<uint32_t, SeenProcess> processes;
  for (const device::GpuSample& gpu : samples.gpus) {
    for (const device::ProcessSample& process : gpu.processes) {
      if (processes.size() < kMostProcesses || processes.contains(process.pid)) {
        processes[process.pid].devices.insert(DeviceOfProcess(gpu, process));
      }
    }
  }
  std::vector<SeenProcess> seen;
  seen.reserve(processes.size());
  for (auto& [pid, process] : processes) {
    process.pid = pid;
    seen.push_back(std::move(process));
  }
  return seen;
}

std::vector<SeenProcess> WithPlaces(std::vector<SeenProcess> processes, const sys::Root& host) {
  const std::string ours = PodOf(ReadPlaces("self", host).value_or(std::vector<CgroupPlace>()));
  for (SeenProcess& process : processes) {
    process.places = ReadPlaces(fmt::format("{}", process.pid), host);
    if (process.places && !ours.empty() && PodOf(*process.places) == ours) {
      process.places->clear();
    }
  }
  return processes;
}

std::set<std::string> UnknownTo(const JoinInput& input) {
  std::set<std::string> unknown;
  for (const SeenProcess& process : input.processes) {
    if (process.places && !process.places->empty() && !input.index.IsKnown(*process.places)) {
      unknown.insert(KeyOf(process.places->front()));
    }
  }
  for (const DeviceUse& use : input.uses) {
    if (!input.index.IsRunning(NameOf(use.user))) {
      unknown.insert(fmt::format("{}/{}", use.user.pod_namespace, use.user.pod));
    }
  }
  return unknown;
}

PodMap Join(const JoinInput& input) {
  PodMap map;
  map.devices = UsesInForce(input.uses, input.index);
  UsersByDevice users;
  for (const DeviceUse& use : map.devices) {
    users[DeviceOf(use.device_id)].insert(use.user);
  }
  for (const SeenProcess& process : input.processes) {
    if (std::optional<Container> owner = OwnerOf(process, input.index, users)) {
      for (const std::string& device : process.devices) {
        map.in_use.emplace(device, *owner);
      }
      map.processes.emplace(process.pid, *std::move(owner));
    }
  }
  return map;
}

}  // namespace kgpu::pods
