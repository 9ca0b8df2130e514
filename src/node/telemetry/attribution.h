// Which container uses how much of which device: the kubelet's list and the driver's processes,
// joined. Pure.
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

// One container on one device: it holds the device, or has a process there, or both.
struct ContainerUse {
  pods::Container user;
  size_t gpu = 0;                          // its place in Snapshot::gpus
  const device::MigDevice* mig = nullptr;  // of the snapshot; null: the GPU itself
  // Of the map: by which it has the device; null: by a device plugin, or it only has a process.
  const pods::ClaimedDevice* claim = nullptr;
  unsigned slots = 0;  // device ids of this device in its hands
  unsigned processes = 0;
  // Absent where not all of it is known: nobody knows whose the processes are, or the driver has
  // no value for one of them (clients of MPS, processes on MIG devices).
  std::optional<Bytes> memory;
  std::optional<double> sm, memory_utilization, encoder, decoder;  // percent
};

struct ProcessUse {
  const device::ProcessSample* process = nullptr;
  size_t gpu = 0;
  const device::MigDevice* mig = nullptr;
  const pods::Container* user = nullptr;  // null: of no pod
};

// How many devices of a resource a container has: slots count.
struct ResourceUse {
  pods::Container user;
  std::string resource;
  unsigned count = 0;
};

struct Attribution {
  std::vector<ContainerUse> containers;  // by GPU, MIG device, container
  std::vector<ProcessUse> processes;     // by GPU, PID; each process of a device once
  std::vector<ResourceUse> resources;    // by container, resource; of devices in the snapshot
};

// The snapshot, samples and map outlive the result. `samples` may be null.
Attribution Attribute(const device::Snapshot& snapshot, const device::SampleSet* samples,
                      const pods::PodMap& pods);

// Whose the values of a whole device are: the one container that has it as a whole, only the pod
// where several containers of one pod do, or nobody's. A device in slots is never one container's,
// even while only one is there: its series would change hands.
struct Owner {
  std::string_view pod_namespace;
  std::string_view pod;
  std::string_view container;
  std::string_view pod_uid{};                  // empty: not known
  const pods::ClaimedDevice* claim = nullptr;  // of the map; null: it is a device plugin's
  bool operator==(const Owner&) const = default;
};
Owner OwnerOf(const pods::PodMap& pods, std::string_view device_uuid);

}  // namespace kgpu::telemetry
