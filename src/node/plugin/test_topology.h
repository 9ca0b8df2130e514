// Realistic nodes as snapshots and resources, for tests and benchmarks.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include "src/gpu/device/snapshot.h"
#include "src/node/plugin/link_table.h"
#include "src/node/pools/assignment.h"
#include "src/node/sharing/time/time.h"

namespace kgpu::plugin {

inline device::GpuUuid TestGpuUuid(size_t index) {
  return *device::GpuUuid::Parse(fmt::format("GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b{:04x}", index));
}

// `count` GPUs without links, the first half on NUMA node 0 and the others on node 1.
inline device::Snapshot TestNode(size_t count) {
  device::Snapshot snapshot;
  for (size_t i = 0; i < count; ++i) {
    device::Gpu& gpu = snapshot.gpus.emplace_back();
    gpu.uuid = TestGpuUuid(i);
    gpu.index = static_cast<unsigned>(i);
    gpu.pci.domain = static_cast<uint32_t>(i);
    gpu.numa_node = i < (count + 1) / 2 ? 0 : 1;
  }
  return snapshot;
}

inline void Connect(device::Snapshot& snapshot, size_t a, size_t b, device::PciePath path,
                    unsigned nvlinks) {
  for (const auto& [from, to] : {std::pair{a, b}, std::pair{b, a}}) {
    snapshot.gpus[from].peers.push_back(
        {.peer_index = snapshot.gpus[to].index, .path = path, .nvlinks = nvlinks});
  }
}

inline device::PciePath NumaPath(const device::Snapshot& snapshot, size_t a, size_t b) {
  return snapshot.gpus[a].numa_node == snapshot.gpus[b].numa_node ? device::PciePath::kSameNuma
                                                                  : device::PciePath::kCrossNuma;
}

// NVSwitches: every pair has `nvlinks` links.
inline device::Snapshot AllToAll(size_t count, unsigned nvlinks) {
  device::Snapshot snapshot = TestNode(count);
  for (size_t a = 0; a < count; ++a) {
    for (size_t b = a + 1; b < count; ++b) {
      Connect(snapshot, a, b, NumaPath(snapshot, a, b), nvlinks);
    }
  }
  return snapshot;
}

// Eight V100 with six NVLinks each: two squares with diagonals, joined corner to corner.
inline device::Snapshot PartialMesh() {
  constexpr std::array<std::array<unsigned, 8>, 8> kLinks = {{{0, 1, 1, 2, 2, 0, 0, 0},
                                                              {1, 0, 2, 1, 0, 2, 0, 0},
                                                              {1, 2, 0, 2, 0, 0, 1, 0},
                                                              {2, 1, 2, 0, 0, 0, 0, 1},
                                                              {2, 0, 0, 0, 0, 1, 1, 2},
                                                              {0, 2, 0, 0, 1, 0, 2, 1},
                                                              {0, 0, 1, 0, 1, 2, 0, 2},
                                                              {0, 0, 0, 1, 2, 1, 2, 0}}};
  device::Snapshot snapshot = TestNode(kLinks.size());
  for (size_t a = 0; a < kLinks.size(); ++a) {
    for (size_t b = a + 1; b < kLinks.size(); ++b) {
      const auto path = a / 2 == b / 2 ? device::PciePath::kSingleSwitch : NumaPath(snapshot, a, b);
      Connect(snapshot, a, b, path, kLinks[a][b]);
    }
  }
  return snapshot;
}

// Pairs below one switch each, two pairs below a host bridge; if `bridge_links` is not 0, each pair
// also has an NVLink bridge.
inline device::Snapshot PcieTree(size_t count, unsigned bridge_links) {
  device::Snapshot snapshot = TestNode(count);
  for (size_t a = 0; a < count; ++a) {
    for (size_t b = a + 1; b < count; ++b) {
      const bool is_pair = a / 2 == b / 2;
      const bool is_quad = a / 4 == b / 4;
      const auto path = is_pair   ? device::PciePath::kSingleSwitch
                        : is_quad ? device::PciePath::kHostBridge
                                  : NumaPath(snapshot, a, b);
      Connect(snapshot, a, b, path, is_pair ? bridge_links : 0);
    }
  }
  return snapshot;
}

// The first half linked all to all, the others on PCIe only.
inline device::Snapshot Mixed(size_t count) {
  device::Snapshot snapshot = TestNode(count);
  for (size_t a = 0; a < count; ++a) {
    for (size_t b = a + 1; b < count; ++b) {
      Connect(snapshot, a, b, NumaPath(snapshot, a, b), b < count / 2 ? 12 : 0);
    }
  }
  return snapshot;
}

// Random paths and numbers of links between all pairs: no node is like that, but a search finds no
// structure to rely on.
inline device::Snapshot RandomNode(size_t count, std::mt19937& random) {
  device::Snapshot snapshot = TestNode(count);
  for (size_t a = 0; a < count; ++a) {
    for (size_t b = a + 1; b < count; ++b) {
      const auto path = static_cast<device::PciePath>(random() % 6);
      Connect(snapshot, a, b, path, random() % 3 == 0 ? static_cast<unsigned>(random() % 5) : 0);
    }
  }
  return snapshot;
}

// The GPUs of `snapshot` as one resource with `replicas` slots each.
inline pools::Resource TestResource(const device::Snapshot& snapshot, unsigned replicas = 1) {
  pools::Resource resource;
  resource.name = "nvidia.com/gpu";
  if (replicas > 1) {
    resource.share = {.by = &sharing::kTime, .replicas = replicas};
  }
  for (const device::Gpu& gpu : snapshot.gpus) {
    for (unsigned replica = 0; replica < replicas; ++replica) {
      resource.slots.push_back(
          {.id = replicas == 1 ? gpu.uuid.str() : fmt::format("{}::{}", gpu.uuid.str(), replica),
           .device_uuid = gpu.uuid.str(),
           .gpu = gpu.uuid,
           .replica = replica,
           .health = {},
           .numa_node = gpu.numa_node});
    }
  }
  return resource;
}

inline LinkTable TestLinks(const device::Snapshot& snapshot) {
  std::vector<const device::Gpu*> cards;
  cards.reserve(snapshot.gpus.size());
  for (const device::Gpu& gpu : snapshot.gpus) {
    cards.push_back(&gpu);
  }
  return LinkTable(cards);
}

}  // namespace kgpu::plugin
