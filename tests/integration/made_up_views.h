// Resources of fictitious GPUs, for a device plugin without a driver.
#pragma once

#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "src/node/plugin/answer_cache.h"
#include "src/node/plugin/preferred.h"
#include "src/node/plugin/test_topology.h"
#include "src/node/plugin/view.h"

namespace kgpu::integration {

inline constexpr const char* kGpus = "nvidia.com/gpu";

inline std::string GpuId(size_t index) {
  return plugin::TestGpuUuid(index).str();
}

inline std::string CdiName(size_t index) {
  return fmt::format("kgpu.dev/gpu={}", GpuId(index));
}

// The first `count` GPUs of a node; those in `unhealthy` are unhealthy.
inline plugin::ResourceViewPtr GpuView(size_t count, const std::set<size_t>& unhealthy = {}) {
  const device::Snapshot node = plugin::AllToAll(count, 12);
  pools::Resource resource = plugin::TestResource(node);
  for (const size_t index : unhealthy) {
    resource.slots.at(index).health = {false, "Xid79", "The GPU has fallen off the bus."};
  }
  auto view = std::make_shared<plugin::ResourceView>();
  view->resource = kGpus;
  for (const pools::Slot& slot : resource.slots) {
    view->devices.push_back({slot.id, slot.health.is_healthy, slot.numa_node});
  }
  auto policy = std::make_shared<const plugin::PreferredPolicy>(resource, node,
                                                                config::SharedPolicy::kDistributed);
  view->preference = [policy](const std::vector<std::string>& available,
                              const std::vector<std::string>& must_include, size_t size) {
    return policy->Choose(available, must_include, size);
  };
  plugin::Delivery delivery;
  delivery.strategies = {config::DeviceListStrategy::kCdiCri};
  view->answers = std::make_shared<const plugin::AnswerCache>(resource, node, nullptr, delivery);
  return view;
}

// A list as it is; nothing can be allocated from it.
inline plugin::ResourceViewPtr ListView(std::string resource,
                                        std::vector<plugin::Advertised> devices) {
  auto view = std::make_shared<plugin::ResourceView>();
  view->resource = std::move(resource);
  view->devices = std::move(devices);
  view->obstacle = FailedPrecondition("a list without devices");
  return view;
}

}  // namespace kgpu::integration
