// Which resource each device of a node belongs to: a pure function of snapshot and configuration.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/gpu/device/snapshot.h"
#include "src/node/config/node_config.h"
#include "src/node/sharing/kind.h"

namespace kgpu::pools {

// Slots per resource of the kubelet: all must fit into one message to the kubelet, which takes at
// most 4 MiB.
inline constexpr size_t kMaxSlots = 32'768;

// The reason in the health of slots that are withdrawn until their GPU has another MIG layout.
inline constexpr std::string_view kMigChangeReason = "MigChange";

// The unit that the kubelet counts and gives to one container: a GPU, a MIG device, or one of
// several replicas of either.
struct Slot {
  // "GPU-…", "MIG-…", "GPU-…::3"; unique over all resources of the node.
  std::string id;
  std::string device_uuid;  // of the GPU or MIG device to inject
  device::GpuUuid gpu;      // the card
  unsigned replica = 0;
  device::Health health;  // of the device and of its card
  std::optional<unsigned> numa_node;
  // The limit of a memory slice; nothing: the device's whole memory.
  std::optional<Bytes> memory{};
  // Percent of the device's threads that each program of the slot may use; 0: no limit.
  unsigned threads = 0;
  // Its part of the device's time while others use the device, too, in percent; 0: none is set.
  unsigned compute = 0;
  bool operator==(const Slot&) const = default;
};

sharing::Limits LimitsOf(const Slot& slot);

// The devices of one name. In Assignment::local, and with by_claims, it is no resource of the
// kubelet's.
struct Resource {
  std::string name;         // "nvidia.com/gpu"
  std::vector<Slot> slots;  // by card (PCI order), MIG device, replica
  sharing::Share share;
  // The scheduler gives its slots to claims of DRA: the device plugin does not show them.
  bool by_claims = false;
  bool operator==(const Resource&) const = default;
};

// A device that is not advertised. If no part of a GPU is, the GPU represents its MIG devices.
struct Unassigned {
  std::string device_uuid{};
  std::string reason{};   // for people: "excluded by exclude[0] (uuid=GPU-5d5ba0d6)", with the fix
  device::GpuUuid gpu{};  // the card
  bool is_changing = false;  // it gets slots once nobody uses it as what it was
  bool operator==(const Unassigned&) const = default;
};

struct Assignment {
  std::vector<Resource> resources;     // by name; also those without slots: their pool exists
  std::vector<Resource> local;         // the same for local pools: no kubelet learns of them
  std::vector<Unassigned> unassigned;  // by card
  std::vector<std::string> notes;      // for people: selectors that match nothing, …
  std::vector<std::string> hints{};    // for people: nothing is wrong, but could be better
  bool operator==(const Assignment&) const = default;
  const Resource* Find(std::string_view resource) const;
};

// The first pool whose selector matches takes the device. A selector that names MIG devices, by
// profile or UUID, takes them whatever the MIG strategy; one that selects GPUs takes those in MIG
// mode as the strategy says. A GPU with a MIG device that is taken or excluded is never allocated
// whole. A local pool takes whole GPUs only. Never fails: what cannot be advertised is unassigned,
// with the reason (an invalid name, too many slots for one message, MIG devices that differ under
// strategy single, …).
Assignment AssignDevices(const device::Snapshot& snapshot, const config::NodeConfig& config);

}  // namespace kgpu::pools
