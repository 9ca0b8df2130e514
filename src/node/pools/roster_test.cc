#include "src/node/pools/roster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/node/pools/test_node.h"

namespace kgpu::pools {
namespace {

using std::chrono::minutes;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class RosterTest : public ::testing::Test {
 protected:
  Assignment Update(const device::Snapshot& node) {
    return roster_.Update(AssignDevices(node, config_), is_driver_ready_, now_);
  }

  config::NodeConfig config_ = TestConfig("migStrategy: mixed\n");
  Roster roster_{Roster::Options{}};
  bool is_driver_ready_ = true;
  SteadyTime now_{std::chrono::hours(1)};
};

TEST_F(RosterTest, WhatIsThereIsHandedOnUnchanged) {
  EXPECT_EQ(Update(TestNode(2)), AssignDevices(TestNode(2), config_));
  EXPECT_EQ(Update(TestNode(2)), AssignDevices(TestNode(2), config_));
  EXPECT_EQ(roster_.next_expiry(), std::nullopt);
}

TEST_F(RosterTest, AVanishedGpuStaysUnhealthyForTheGracePeriod) {
  Update(TestNode(2));
  now_ += minutes(1);
  const Assignment assignment = Update(TestNode(1));
  ASSERT_THAT(SlotIds(assignment, "nvidia.com/gpu"), ElementsAre(TestGpuName(0), TestGpuName(1)));
  const device::Health& health = assignment.resources[0].slots[1].health;
  EXPECT_FALSE(health.is_healthy);
  EXPECT_EQ(health.reason, "DeviceGone");
  ASSERT_EQ(roster_.next_expiry(), now_ + minutes(10));

  now_ += minutes(10) - std::chrono::nanoseconds(1);
  EXPECT_THAT(SlotIds(Update(TestNode(1)), "nvidia.com/gpu"), SizeIs(2));
  now_ += std::chrono::nanoseconds(1);
  EXPECT_THAT(SlotIds(Update(TestNode(1)), "nvidia.com/gpu"), SizeIs(1));
  EXPECT_EQ(roster_.next_expiry(), std::nullopt);
}

TEST_F(RosterTest, AGpuThatComesBackIsAsHealthyAsItSays) {
  Update(TestNode(2));
  Update(TestNode(1));
  EXPECT_EQ(Update(TestNode(2)), AssignDevices(TestNode(2), config_));
  EXPECT_EQ(roster_.next_expiry(), std::nullopt);
}

TEST_F(RosterTest, EveryReplicaOfAVanishedGpuStays) {
  config_ = TestConfig("pools: [{share: {by: time, replicas: 3}}]\n");
  Update(TestNode(2));
  const Assignment assignment = Update(TestNode(1));
  ASSERT_THAT(SlotIds(assignment, "nvidia.com/gpu"), SizeIs(6));
  EXPECT_FALSE(assignment.resources[0].slots[5].health.is_healthy);
}

TEST_F(RosterTest, TheResourceOfAVanishedMigDeviceStays) {
  device::Snapshot node = TestNode(1);
  AddTestMig(node, 0, {"1g.10gb"});
  Update(node);
  node.gpus[0].mig_devices.clear();
  const Assignment assignment = Update(node);
  EXPECT_THAT(Names(assignment), ElementsAre("nvidia.com/gpu", "nvidia.com/mig-1g.10gb"));
  EXPECT_THAT(SlotIds(assignment, "nvidia.com/mig-1g.10gb"), ElementsAre(TestMigName(0, 0)));
  now_ += minutes(10);
  EXPECT_THAT(Names(Update(node)), ElementsAre("nvidia.com/gpu"));
}

TEST_F(RosterTest, AGpuThatIsCutIntoMigDevicesHasNotGone) {
  device::Snapshot node = TestNode(2);
  Update(node);
  AddTestMig(node, 0, {"1g.10gb"});
  EXPECT_EQ(Update(node), AssignDevices(node, config_));
}

TEST_F(RosterTest, ADeviceThatIsThereButUnassignedHasNotGone) {
  device::Snapshot node = TestNode(2);
  Update(node);
  AddTestMig(node, 0, {});
  EXPECT_THAT(SlotIds(Update(node), "nvidia.com/gpu"), ElementsAre(TestGpuName(1)));
}

TEST_F(RosterTest, ADeviceThatAnotherResourceClaimsIsDropped) {
  Update(TestNode(1));
  config_ = TestConfig("pools: [{resource: x/a}]\n");
  EXPECT_EQ(Update(TestNode(1)), AssignDevices(TestNode(1), config_));
}

TEST_F(RosterTest, WithoutADriverDevicesStayAsLongAsItTakes) {
  Update(TestNode(2));
  is_driver_ready_ = false;
  now_ += minutes(1);
  Assignment assignment = Update(TestNode(0));
  EXPECT_EQ(roster_.next_expiry(), std::nullopt);
  now_ += std::chrono::hours(100);
  assignment = Update(TestNode(0));
  ASSERT_THAT(SlotIds(assignment, "nvidia.com/gpu"), SizeIs(2));
  EXPECT_EQ(assignment.resources[0].slots[0].health.reason, "DriverNotReady");

  is_driver_ready_ = true;
  assignment = Update(TestNode(1));
  ASSERT_THAT(SlotIds(assignment, "nvidia.com/gpu"), SizeIs(2));
  EXPECT_TRUE(assignment.resources[0].slots[0].health.is_healthy);
  EXPECT_EQ(assignment.resources[0].slots[1].health.reason, "DeviceGone");
  EXPECT_EQ(roster_.next_expiry(), now_ + minutes(10));
}

TEST_F(RosterTest, ForgettingDropsWhatHasVanished) {
  Update(TestNode(2));
  Update(TestNode(1));
  roster_.Forget();
  EXPECT_EQ(Update(TestNode(1)), AssignDevices(TestNode(1), config_));
  EXPECT_EQ(roster_.next_expiry(), std::nullopt);
}

TEST_F(RosterTest, TheLongestGoneAreDroppedWhenThereAreTooMany) {
  roster_ = Roster(Roster::Options{.max_gone = 2});
  Update(TestNode(4));
  Update(TestNode(3));
  now_ += minutes(1);
  EXPECT_THAT(SlotIds(Update(TestNode(1)), "nvidia.com/gpu"),
              ElementsAre(TestGpuName(0), TestGpuName(1), TestGpuName(2)));
}

TEST_F(RosterTest, HoweverManyVanishFewAreGoneThrough) {
  for (unsigned gpu = 0; gpu < 400; ++gpu) {
    device::Snapshot node = TestNode(gpu + 1);
    node.gpus.erase(node.gpus.begin(), node.gpus.end() - 1);
    Update(node);
    now_ += std::chrono::milliseconds(100);
  }
  const std::vector<std::string> slots = SlotIds(Update(TestNode(0)), "nvidia.com/gpu");
  ASSERT_THAT(slots, SizeIs(Roster::Options().max_gone));
  EXPECT_THAT(slots, ::testing::Contains(TestGpuName(399)));
  EXPECT_THAT(slots, ::testing::Not(::testing::Contains(TestGpuName(0))));
}

TEST_F(RosterTest, WithoutADriverAllThatThereWasStays) {
  Update(TestNode(200));
  is_driver_ready_ = false;
  EXPECT_THAT(SlotIds(Update(TestNode(0)), "nvidia.com/gpu"), SizeIs(200));
}

TEST_F(RosterTest, VanishedDevicesNeverPushAResourceOverItsBound) {
  config_ = TestConfig("pools: [{share: {by: time, replicas: 1024}}]\n");
  Update(TestNode(32));
  device::Snapshot other = TestNode(33);
  other.gpus.erase(other.gpus.begin());
  EXPECT_THAT(SlotIds(Update(other), "nvidia.com/gpu"), SizeIs(kMaxSlots));
}

TEST_F(RosterTest, NothingIsKeptOfNothing) {
  EXPECT_THAT(SlotIds(Update(TestNode(0)), "nvidia.com/gpu"), IsEmpty());
  EXPECT_EQ(roster_.next_expiry(), std::nullopt);
}

TEST_F(RosterTest, AVanishedGpuOfALocalPoolStaysThere) {
  config_ = TestConfig("pools:\n- provider: local\n");
  Update(TestNode(2));
  const Assignment assignment = Update(TestNode(1));
  EXPECT_THAT(assignment.resources, IsEmpty());
  ASSERT_THAT(assignment.local, SizeIs(1));
  ASSERT_THAT(assignment.local[0].slots, SizeIs(2));
  EXPECT_EQ(assignment.local[0].slots[1].health.reason, "DeviceGone");
  now_ += minutes(10);
  EXPECT_THAT(Update(TestNode(1)).local[0].slots, SizeIs(1));
}

TEST_F(RosterTest, APartitionedGpuIsForgotten) {
  Roster roster{Roster::Options{}};
  const config::NodeConfig config = TestConfig("migStrategy: mixed\n");
  device::Snapshot node = TestNode(2);
  AddTestMig(node, 0, {"3g.40gb", "3g.40gb"});
  AddTestMig(node, 1, {"3g.40gb"});
  const SteadyTime now{};
  (void)roster.Update(AssignDevices(node, config), true, now);
  node.gpus[0].mig_devices.clear();
  node.gpus[1].mig_devices.clear();
  AddTestMig(node, 0, {"7g.80gb"});
  node.gpus[0].mig_devices[0].uuid = *device::MigUuid::Parse(TestMigName(7, 7));
  const auto slots = [&](const char* resource) {
    return SlotIds(roster.Update(AssignDevices(node, config), true, now), resource);
  };
  EXPECT_THAT(slots("nvidia.com/mig-3g.40gb"), SizeIs(3));
  roster.Forget(node.gpus[0].uuid);
  EXPECT_THAT(slots("nvidia.com/mig-3g.40gb"), SizeIs(1)) << "of GPU 1";
  EXPECT_THAT(slots("nvidia.com/mig-7g.80gb"), SizeIs(1));
}

}  // namespace
}  // namespace kgpu::pools
