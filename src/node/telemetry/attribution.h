// Which container uses how much of which device: joins the kubelet's list and the driver's
// processes. Pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/gpu/device/sample.h"
#include "src/gpu/device/snapshot.h"
#include "src/node/pods/pod_map.h"
#include "src/platform/base/bytes.h"

namespace kgpu::telemetry {

// One container on one device: it holds the device, has a process there, or both.
struct ContainerUse {
  pods::Container user;
  size_t gpu = 0;                          // index in Snapshot::gpus
  const device::MigDevice* mig = nullptr;  // in the snapshot; null: the GPU itself
  // The claim in the map that gives it the device; null: a device plugin, or it only has a process.
  const pods::ClaimedDevice* claim = nullptr;
  unsigned slots = 0;  // device ids of this device that it holds
  unsigned processes = 0;
  // Absent if not fully known: the owner of the processes is unknown, or the driver has no value
  // for one of them (MPS clients, processes on MIG devices).
  std::optional<Bytes> memory;
  std::optional<double> sm, memory_utilization, encoder, decoder;  // percent
};

struct ProcessUse {
  const device::ProcessSample* process = nullptr;
  size_t gpu = 0;
  const device::MigDevice* mig = nullptr;
  const pods::Container* user = nullptr;  // null: outside any pod
};

// How many devices of a resource a container has, counted in slots.
struct ResourceUse {
  pods::Container user;
  std::string resource;
  unsigned count = 0;
};

struct Attribution {
  std::vector<ContainerUse> containers;  // by GPU, MIG device, container
  std::vector<ProcessUse> processes;     // by GPU, PID; each process once per device
  std::vector<ResourceUse> resources;    // by container, resource; only devices in the snapshot
};

// The snapshot, samples and map must outlive the result. `samples` may be null.
Attribution Attribute(const device::Snapshot& snapshot, const device::SampleSet* samples,
                      const pods::PodMap& pods);

// Who owns the values of a whole device: the one container that has all of it, only the pod if
// several containers of one pod do, or nobody. A shared device never belongs to one container, even
// while it has only one: its series would change owners.
struct Owner {
  std::string_view pod_namespace;
  std::string_view pod;
  std::string_view container;
  std::string_view pod_uid{};                  // empty: unknown
  const pods::ClaimedDevice* claim = nullptr;  // of the map; null: from a device plugin
  bool operator==(const Owner&) const = default;
};
Owner OwnerOf(const pods::PodMap& pods, std::string_view device_uuid);

}  // namespace kgpu::telemetry
