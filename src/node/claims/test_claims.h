// A node of two A100 and claims on it, for the tests of this folder.
#pragma once

#include <boost/json.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/container/inject/plan.h"
#include "src/node/dra/allocation.h"
#include "src/node/dra/offer.h"
#include "src/node/pools/assignment.h"
#include "src/node/pools/test_node.h"

namespace kgpu::claims {

inline constexpr std::string_view kTestUid = "3c2f0f5e-0000-4000-8000-000000000001";

inline constexpr uint16_t kA100 = 0x20b2;  // SXM4, 80 GB

struct TestClaims {
  explicit TestClaims(std::string_view config = "serve: {by: dra}\n")
      : snapshot(std::make_shared<device::Snapshot>(pools::TestNode(2))) {
    auto& gpus = snapshot->gpus;
    for (device::Gpu& gpu : gpus) {
      gpu.minor = gpu.index;
      gpu.usable_memory = gpu.memory;
    }
    Configure(config);
    auto made = std::make_shared<inject::InjectionPlan>();
    for (const device::Gpu& gpu : gpus) {
      cdi::DeviceNode node;
      node.path = fmt::format("/dev/nvidia{}", gpu.minor);
      made->devices.push_back({.names = {gpu.uuid.str()}, .nodes = {node}});
    }
    made->env = {"NVIDIA_VISIBLE_DEVICES=void"};
    plan = std::move(made);
  }

  void Configure(std::string_view config, const dra::OfferOptions& options = {}) {
    resources = pools::AssignDevices(*snapshot, pools::TestConfig(config)).resources;
    cards = dra::OffersOf(*snapshot, resources, options);
  }
  // MIG devices are made for claims.
  void Divide() {
    dra::OfferOptions options;
    for (device::Gpu& gpu : snapshot->gpus) {
      gpu.pci_device_id = kA100;
      options.partitioned.insert(gpu.uuid.str());
    }
    Configure("serve: {by: dra}\npools: [{mig: dynamic}]\n", options);
  }
  void AddPlanned(const std::string& uuid) {
    auto more = std::make_shared<inject::InjectionPlan>(*plan);
    cdi::DeviceNode node;
    node.path = "/dev/nvidia-caps/nvidia-cap1";
    more->devices.push_back({.names = {uuid}, .nodes = {node}});
    plan = std::move(more);
  }

  std::shared_ptr<device::Snapshot> snapshot;
  std::vector<pools::Resource> resources;
  std::vector<dra::CardOffer> cards;
  std::shared_ptr<const inject::InjectionPlan> plan;
};

inline dra::AllocatedDevice TestDevice(std::string_view device, std::string_view request = "r") {
  return {.request = std::string(request), .pool = "n1", .device = std::string(device)};
}

inline dra::Allocation TestAllocation(std::vector<dra::AllocatedDevice> devices,
                                      std::string_view uid = kTestUid) {
  return {.space = "ml", .name = "c", .uid = std::string(uid), .devices = std::move(devices)};
}

}  // namespace kgpu::claims
