// Inventories and configurations for the tests of this folder.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "src/gpu/device/snapshot.h"
#include "src/node/config/node_config.h"
#include "src/node/pools/assignment.h"
#include "testing/status_matchers.h"

namespace kgpu::pools {

inline std::string TestGpuName(unsigned index) {
  return fmt::format("GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b{:04x}", index);
}

inline std::string TestMigName(unsigned gpu, unsigned index) {
  return fmt::format("MIG-7c1d4bd0-85a5-5d5a-b9c5-d4ee{:04x}{:04x}", gpu, index);
}

// `gpus` A100s on two NUMA nodes.
inline device::Snapshot TestNode(unsigned gpus) {
  device::Snapshot snapshot;
  snapshot.driver.state = device::DriverState::kReady;
  for (unsigned i = 0; i < gpus; ++i) {
    device::Gpu& gpu = snapshot.gpus.emplace_back();
    gpu.uuid = *device::GpuUuid::Parse(TestGpuName(i));
    gpu.index = i;
    gpu.pci = {.domain = 0, .bus = static_cast<uint8_t>(i), .device = 0, .function = 0};
    gpu.model = "A100-SXM4-80GB";
    gpu.memory = GibiBytes(80);
    gpu.numa_node = i < gpus / 2 ? 0 : 1;
    gpu.mig_mode = device::MigMode{};
  }
  return snapshot;
}

// Switches GPU `index` into MIG mode with a device of each profile.
inline void AddTestMig(device::Snapshot& snapshot, unsigned index,
                       const std::vector<std::string>& profiles) {
  device::Gpu& gpu = snapshot.gpus.at(index);
  gpu.mig_mode = device::MigMode{.is_enabled = true, .is_pending_enabled = true};
  for (const std::string& profile : profiles) {
    device::MigDevice& mig = gpu.mig_devices.emplace_back();
    mig.index = static_cast<unsigned>(gpu.mig_devices.size()) - 1;
    mig.uuid = *device::MigUuid::Parse(TestMigName(index, mig.index));
    mig.profile = profile;
    mig.memory = GibiBytes(10);
  }
}

// The keys after apiVersion and kind.
inline config::NodeConfig TestConfig(std::string_view body) {
  const auto config = config::ParseNodeConfig(
      fmt::format("apiVersion: kgpu.dev/v1\nkind: NodeConfig\n{}", body), "n.yaml");
  EXPECT_OK(config);
  return config.value_or(config::DefaultNodeConfig());
}

// Ids of the slots of a resource, which must exist.
inline std::vector<std::string> SlotIds(const Assignment& assignment, std::string_view name) {
  std::vector<std::string> ids;
  const Resource* resource = assignment.Find(name);
  EXPECT_NE(resource, nullptr) << name;
  for (const Slot& slot : resource == nullptr ? std::vector<Slot>() : resource->slots) {
    ids.push_back(slot.id);
  }
  return ids;
}

// Why the device is unassigned; empty if it is assigned.
inline std::string ReasonFor(const Assignment& assignment, std::string_view uuid) {
  const auto found = std::ranges::find(assignment.unassigned, uuid, &Unassigned::device_uuid);
  return found == assignment.unassigned.end() ? "" : found->reason;
}

inline std::vector<std::string> Names(const Assignment& assignment) {
  std::vector<std::string> names;
  names.reserve(assignment.resources.size());
  for (const Resource& resource : assignment.resources) {
    names.push_back(resource.name);
  }
  return names;
}

}  // namespace kgpu::pools
