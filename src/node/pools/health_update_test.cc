#include "src/node/pools/health_update.h"

#include <gtest/gtest.h>

#include "src/node/pools/test_node.h"

namespace kgpu::pools {
namespace {

const device::Health kBroken{.is_healthy = false, .reason = "Xid48", .message = "broken"};

TEST(DifferInHealthAloneTest, WhateverTheHealthOfGpusAndMigDevices) {
  device::Snapshot healthy = TestNode(2);
  AddTestMig(healthy, 1, {"1g.10gb"});
  device::Snapshot broken = healthy;
  broken.version = 9;
  broken.gpus[0].health = kBroken;
  broken.gpus[1].mig_devices[0].health = kBroken;
  EXPECT_TRUE(DifferInHealthAlone(healthy, broken));
  EXPECT_TRUE(DifferInHealthAlone(healthy, healthy));
}

TEST(DifferInHealthAloneTest, NotWhenAnythingElseDiffers) {
  device::Snapshot before = TestNode(2);
  AddTestMig(before, 1, {"1g.10gb"});
  const auto differs = [&before](const auto& change) {
    device::Snapshot after = before;
    after.gpus[0].health = kBroken;
    change(after);
    return !DifferInHealthAlone(before, after);
  };
  EXPECT_TRUE(differs([](device::Snapshot& after) { after.gpus[0].model = "T4"; }));
  EXPECT_TRUE(differs([](device::Snapshot& after) { after.gpus[1].mig_devices[0].index = 5; }));
  EXPECT_TRUE(differs([](device::Snapshot& after) { after.gpus[1].mig_devices.clear(); }));
  EXPECT_TRUE(differs([](device::Snapshot& after) { after.gpus.pop_back(); }));
  EXPECT_TRUE(differs([](device::Snapshot& after) { after.unmanaged.emplace_back(); }));
  EXPECT_TRUE(differs([](device::Snapshot& after) { after.companions.emplace_back(); }));
  EXPECT_TRUE(differs([](device::Snapshot& after) { after.lost_gpus = 1; }));
  EXPECT_TRUE(differs(
      [](device::Snapshot& after) { after.driver.state = device::DriverState::kUnresponsive; }));
}

TEST(UpdateHealthTest, GivesWhatANewAssignmentWouldGive) {
  device::Snapshot snapshot = TestNode(3);
  AddTestMig(snapshot, 1, {"1g.10gb", "2g.20gb"});
  AddTestMig(snapshot, 2, {"1g.10gb"});
  const config::NodeConfig config =
      TestConfig("migStrategy: mixed\npools: [{devices: all, share: {by: time, replicas: 2}}]\n");
  Assignment assignment = AssignDevices(snapshot, config);
  snapshot.gpus[0].health = kBroken;
  snapshot.gpus[1].mig_devices[1].health = kBroken;
  snapshot.gpus[2].health = kBroken;
  UpdateHealth(snapshot, assignment);
  EXPECT_EQ(assignment, AssignDevices(snapshot, config));
  for (device::Gpu& gpu : snapshot.gpus) {
    gpu.health = {};
  }
  snapshot.gpus[1].mig_devices[1].health = {};
  UpdateHealth(snapshot, assignment);
  EXPECT_EQ(assignment, AssignDevices(snapshot, config));
}

TEST(UpdateHealthTest, LeavesDevicesAloneThatAreNotShown) {
  Assignment assignment = AssignDevices(TestNode(2), config::DefaultNodeConfig());
  assignment.resources[0].slots[1].health.reason = "DeviceGone";
  UpdateHealth(TestNode(1), assignment);
  EXPECT_TRUE(assignment.resources[0].slots[0].health.is_healthy);
  EXPECT_EQ(assignment.resources[0].slots[1].health.reason, "DeviceGone");
}

TEST(UpdateHealthTest, IncludesDevicesOfLocalPools) {
  device::Snapshot snapshot = TestNode(1);
  const config::NodeConfig config = TestConfig("pools:\n- provider: local\n");
  Assignment assignment = AssignDevices(snapshot, config);
  snapshot.gpus[0].health = kBroken;
  UpdateHealth(snapshot, assignment);
  EXPECT_EQ(assignment, AssignDevices(snapshot, config));
  EXPECT_FALSE(assignment.local.at(0).slots.at(0).health.is_healthy);
}

}  // namespace
}  // namespace kgpu::pools
