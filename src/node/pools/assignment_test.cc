#include "src/node/pools/assignment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "src/node/pools/claims.h"
#include "src/node/pools/test_node.h"

namespace kgpu::pools {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(AssignDevicesTest, EveryGpuIsTheDefaultResource) {
  const Assignment assignment = AssignDevices(TestNode(2), config::DefaultNodeConfig());
  EXPECT_THAT(Names(assignment), ElementsAre("nvidia.com/gpu"));
  EXPECT_THAT(SlotIds(assignment, "nvidia.com/gpu"), ElementsAre(TestGpuName(0), TestGpuName(1)));
  const Slot& slot = assignment.resources[0].slots[1];
  EXPECT_EQ(slot.device_uuid, TestGpuName(1));
  EXPECT_EQ(slot.gpu.str(), TestGpuName(1));
  EXPECT_EQ(slot.numa_node, 1U);
  EXPECT_THAT(assignment.unassigned, IsEmpty());
  EXPECT_THAT(assignment.notes, IsEmpty());
}

TEST(AssignDevicesTest, AResourceWithoutDevicesStays) {
  const Assignment assignment = AssignDevices(
      TestNode(0), TestConfig("pools:\n- {resource: x/a, devices: {index: 0}}\n- {devices: all}\n"
                              "- {resource: \"x/{model}\", devices: all}\n"
                              "- {devices: {mig: [1g.10gb, 2g.*]}}\n"
                              "- {devices: {uuid: MIG-7c1d4bd0}}\n"));
  EXPECT_THAT(Names(assignment), ElementsAre("nvidia.com/gpu", "nvidia.com/mig-1g.10gb", "x/a"));
  EXPECT_THAT(assignment.resources[0].slots, IsEmpty());
}

TEST(AssignDevicesTest, TheFirstPoolThatMatchesTakesTheDevice) {
  const Assignment assignment =
      AssignDevices(TestNode(4), TestConfig("pools:\n- {resource: x/a, devices: {index: [1, 2]}}\n"
                                            "- {resource: x/b, devices: {index: 0-2}}\n"));
  EXPECT_THAT(SlotIds(assignment, "x/a"), ElementsAre(TestGpuName(1), TestGpuName(2)));
  EXPECT_THAT(SlotIds(assignment, "x/b"), ElementsAre(TestGpuName(0)));
  EXPECT_THAT(ReasonFor(assignment, TestGpuName(3)), HasSubstr("no pool's selector matches"));
  EXPECT_THAT(assignment.unassigned, SizeIs(1));
}

TEST(AssignDevicesTest, ExcludedDevicesAreNeverTaken) {
  const Assignment assignment =
      AssignDevices(TestNode(2), TestConfig("exclude: [{index: 0}]\npools: [{devices: all}]\n"));
  EXPECT_THAT(SlotIds(assignment, "nvidia.com/gpu"), ElementsAre(TestGpuName(1)));
  EXPECT_THAT(ReasonFor(assignment, TestGpuName(0)), HasSubstr("excluded by exclude[0] (index=0)"));
}

TEST(AssignDevicesTest, SharedDevicesHaveASlotForEachReplica) {
  const Assignment assignment =
      AssignDevices(TestNode(2), TestConfig("pools: [{resource: nvidia.com/gpu.shared, "
                                            "share: {by: time, replicas: 2}}]\n"));
  EXPECT_THAT(SlotIds(assignment, "nvidia.com/gpu.shared"),
              ElementsAre(TestGpuName(0) + "::0", TestGpuName(0) + "::1", TestGpuName(1) + "::0",
                          TestGpuName(1) + "::1"));
  const Resource& resource = assignment.resources[0];
  EXPECT_EQ(resource.slots[3].replica, 1U);
  EXPECT_EQ(resource.slots[3].device_uuid, TestGpuName(1));
  EXPECT_EQ(resource.share.replicas, 2U);
}

TEST(AssignDevicesTest, EachModelCanBeAResourceOfItsOwn) {
  device::Snapshot node = TestNode(2);
  node.gpus[1].model = "T4";
  const Assignment assignment =
      AssignDevices(node, TestConfig("pools: [{resource: \"nvidia.com/gpu-{model}\"}]\n"));
  EXPECT_THAT(Names(assignment), ElementsAre("nvidia.com/gpu-A100-SXM4-80GB", "nvidia.com/gpu-T4"));
}

TEST(AssignDevicesTest, AModelThatMakesTheNameTooLongIsRefused) {
  device::Snapshot node = TestNode(1);
  node.gpus[0].model = std::string(60, 'A');
  const Assignment assignment =
      AssignDevices(node, TestConfig("pools: [{resource: \"nvidia.com/gpu-{model}\"}]\n"));
  EXPECT_THAT(Names(assignment), IsEmpty());
  EXPECT_THAT(ReasonFor(assignment, TestGpuName(0)),
              AllOf(HasSubstr("pools[0] (all) would give it an invalid name: "),
                    HasSubstr("after the slash, limit 63")));
}

TEST(AssignDevicesTest, ANameThatTwoPoolsShareOtherwiseIsRefused) {
  const Assignment assignment = AssignDevices(
      TestNode(2),
      TestConfig("pools:\n- {resource: nvidia.com/A100-SXM4-80GB, devices: {index: 0}}\n"
                 "- {resource: \"nvidia.com/{model}\", devices: all, "
                 "share: {by: time, replicas: 2}}\n"));
  EXPECT_THAT(SlotIds(assignment, "nvidia.com/A100-SXM4-80GB"), ElementsAre(TestGpuName(0)));
  EXPECT_THAT(ReasonFor(assignment, TestGpuName(1)),
              HasSubstr("to which pools[0] (index=0) adds devices with other share settings"));
}

TEST(AssignDevicesTest, ASlotIsAsHealthyAsItsDeviceAndItsCard) {
  device::Snapshot node = TestNode(2);
  AddTestMig(node, 0, {"1g.10gb", "1g.10gb"});
  node.gpus[0].mig_devices[1].health = {false, "Xid94", "contained"};
  AddTestMig(node, 1, {"1g.10gb"});
  node.gpus[1].health = {false, "Xid79", "gone"};
  const Assignment assignment = AssignDevices(node, TestConfig("migStrategy: mixed\n"));
  const Resource* resource = assignment.Find("nvidia.com/mig-1g.10gb");
  ASSERT_NE(resource, nullptr);
  ASSERT_THAT(resource->slots, SizeIs(3));
  EXPECT_TRUE(resource->slots[0].health.is_healthy);
  EXPECT_EQ(resource->slots[1].health.reason, "Xid94");
  EXPECT_EQ(resource->slots[2].health.reason, "Xid79");
}

TEST(AssignDevicesTest, AThousandDevicesAreNoneTooMany) {
  const Assignment assignment =
      AssignDevices(TestNode(1024), TestConfig("pools: [{share: {by: time, replicas: 32}}]\n"));
  ASSERT_THAT(assignment.resources, SizeIs(1));
  EXPECT_THAT(assignment.resources[0].slots, SizeIs(kMaxSlots));
  EXPECT_THAT(assignment.unassigned, IsEmpty());
  std::set<std::string> ids;
  for (const Slot& slot : assignment.resources[0].slots) {
    ids.insert(slot.id);
  }
  EXPECT_THAT(ids, SizeIs(kMaxSlots));
}

TEST(AssignDevicesTest, MoreSlotsThanOneMessageHoldsAreUnassigned) {
  const Assignment assignment =
      AssignDevices(TestNode(1024), TestConfig("pools: [{share: {by: time, replicas: 33}}]\n"));
  ASSERT_THAT(assignment.resources, SizeIs(1));
  EXPECT_THAT(assignment.resources[0].slots, SizeIs(kMaxSlots / 33 * 33));
  EXPECT_THAT(assignment.unassigned, SizeIs(1024 - kMaxSlots / 33));
  EXPECT_THAT(ReasonFor(assignment, TestGpuName(1023)), HasSubstr("a message to the kubelet"));
}

TEST(AssignDevicesTest, OneUuidIsAdvertisedOnce) {
  device::Snapshot node = TestNode(2);
  node.gpus[1].uuid = node.gpus[0].uuid;
  const Assignment assignment = AssignDevices(node, config::DefaultNodeConfig());
  EXPECT_THAT(SlotIds(assignment, "nvidia.com/gpu"), ElementsAre(TestGpuName(0)));
  EXPECT_THAT(ReasonFor(assignment, TestGpuName(0)), HasSubstr("two devices with this UUID"));
}

// Programs in a container with the whole GPU would find no device.
TEST(AssignDevicesMigTest, StrategyNoneHandsOutNoGpuInMigMode) {
  device::Snapshot node = TestNode(3);
  AddTestMig(node, 0, {"1g.10gb"});
  AddTestMig(node, 1, {});
  const Assignment assignment = AssignDevices(node, config::DefaultNodeConfig());
  EXPECT_THAT(SlotIds(assignment, "nvidia.com/gpu"), ElementsAre(TestGpuName(2)));
  EXPECT_THAT(ReasonFor(assignment, TestGpuName(0)), HasSubstr("set migStrategy: mixed or single"));
  EXPECT_THAT(ReasonFor(assignment, TestGpuName(1)),
              HasSubstr("in MIG mode without MIG devices, so no program can use it"));
}

TEST(AssignDevicesMigTest, NoStrategyHandsOutAGpuInMigModeWithoutDevices) {
  for (const std::string_view config :
       {"migStrategy: none\n", "migStrategy: single\n", "migStrategy: mixed\n",
        "pools: [{devices: all}]\n", "pools: [{devices: {index: 0}, mig: mixed}]\n",
        "pools: [{devices: all, share: {by: time, replicas: 2}}]\n",
        "pools: [{devices: all, share: {by: memory, size: 10Gi}}]\n",
        "pools: [{provider: local}]\n"}) {
    device::Snapshot node = TestNode(1);
    AddTestMig(node, 0, {});
    const Assignment assignment = AssignDevices(node, TestConfig(config));
    for (const Resource& resource : assignment.resources) {
      EXPECT_THAT(resource.slots, IsEmpty()) << config << resource.name;
    }
    for (const Resource& resource : assignment.local) {
      EXPECT_THAT(resource.slots, IsEmpty()) << config << resource.name;
    }
    EXPECT_THAT(ReasonFor(assignment, TestGpuName(0)), HasSubstr("--gpu 0 --select all-disabled"))
        << config;
  }
}

TEST(AssignDevicesMigTest, AGpuThatClaimsDivideHasOneSlotInAnyMode) {
  device::Snapshot node = TestNode(3);
  AddTestMig(node, 0, {});
  AddTestMig(node, 1, {"1g.10gb"});
  for (device::Gpu& gpu : node.gpus) {
    gpu.architecture = "ampere";
  }
  node.gpus[2].mig_mode = device::MigMode{};
  const config::NodeConfig config = TestConfig("serve: {by: dra}\npools: [{mig: dynamic}]\n");
  const Assignment assignment = AssignDevices(node, config);
  EXPECT_THAT(SlotIds(assignment, "nvidia.com/gpu"),
              ElementsAre(TestGpuName(0), TestGpuName(1), TestGpuName(2)));
  EXPECT_TRUE(MakesMigDevices(config, node.gpus[0]));
  EXPECT_FALSE(MakesMigDevices(config, node.gpus[2])) << "only a reset turns MIG on";
  EXPECT_THAT(assignment.notes, ElementsAre(HasSubstr("--gpu 2 --select all-enabled")));
  node.gpus[2].architecture = "hopper";
  EXPECT_TRUE(MakesMigDevices(config, node.gpus[2]));
  EXPECT_THAT(AssignDevices(node, config).notes, IsEmpty());
  node.gpus[2].mig_mode.reset();
  EXPECT_FALSE(MakesMigDevices(config, node.gpus[2])) << "no MIG";
}

TEST(AssignDevicesMigTest, StrategySingleGivesMigDevicesThePoolsName) {
  device::Snapshot node = TestNode(2);
  AddTestMig(node, 0, {"1g.10gb", "1g.10gb"});
  AddTestMig(node, 1, {"1g.10gb"});
  const Assignment assignment = AssignDevices(node, TestConfig("migStrategy: single\n"));
  EXPECT_THAT(Names(assignment), ElementsAre("nvidia.com/gpu"));
  EXPECT_THAT(SlotIds(assignment, "nvidia.com/gpu"),
              ElementsAre(TestMigName(0, 0), TestMigName(0, 1), TestMigName(1, 0)));
  EXPECT_EQ(assignment.resources[0].slots[2].gpu.str(), TestGpuName(1));
}

TEST(AssignDevicesMigTest, StrategySingleWithoutMigIsWholeGpus) {
  const Assignment assignment = AssignDevices(TestNode(2), TestConfig("migStrategy: single\n"));
  EXPECT_THAT(SlotIds(assignment, "nvidia.com/gpu"), SizeIs(2));
}

TEST(AssignDevicesMigTest, StrategySingleRefusesWhatIsNotAlike) {
  device::Snapshot node = TestNode(4);
  AddTestMig(node, 0, {"1g.10gb"});
  AddTestMig(node, 1, {});
  AddTestMig(node, 2, {"1g.10gb"});
  Assignment assignment = AssignDevices(node, TestConfig("migStrategy: single\n"));
  EXPECT_THAT(SlotIds(assignment, "nvidia.com/gpu"),
              ElementsAre(TestMigName(0, 0), TestMigName(2, 0)));
  EXPECT_THAT(ReasonFor(assignment, TestGpuName(1)), HasSubstr("in MIG mode without MIG devices"));
  EXPECT_THAT(ReasonFor(assignment, TestGpuName(3)), HasSubstr("enable MIG mode on this GPU too"));

  node.gpus[2].mig_devices[0].profile = "2g.20gb";
  assignment = AssignDevices(node, TestConfig("migStrategy: single\n"));
  EXPECT_THAT(SlotIds(assignment, "nvidia.com/gpu"), IsEmpty());
  EXPECT_THAT(ReasonFor(assignment, TestMigName(0, 0)),
              AllOf(HasSubstr("1g.10gb, 2g.20gb"), HasSubstr("set mig: mixed")));
  EXPECT_THAT(ReasonFor(assignment, TestMigName(2, 0)), HasSubstr("1g.10gb, 2g.20gb"));
}

TEST(AssignDevicesMigTest, StrategyMixedNamesMigDevicesByProfile) {
  device::Snapshot node = TestNode(3);
  AddTestMig(node, 0, {"1g.10gb", "1g.10gb+me", "1c.3g.40gb"});
  AddTestMig(node, 1, {});
  const Assignment assignment = AssignDevices(node, TestConfig("migStrategy: mixed\n"));
  EXPECT_THAT(Names(assignment),
              ElementsAre("nvidia.com/gpu", "nvidia.com/mig-1c.3g.40gb", "nvidia.com/mig-1g.10gb",
                          "nvidia.com/mig-1g.10gb.me"));
  EXPECT_THAT(SlotIds(assignment, "nvidia.com/gpu"), ElementsAre(TestGpuName(2)));
  EXPECT_THAT(SlotIds(assignment, "nvidia.com/mig-1g.10gb.me"), ElementsAre(TestMigName(0, 1)));
  EXPECT_THAT(ReasonFor(assignment, TestGpuName(1)),
              HasSubstr("kgpu mig apply --gpu 1 --select all-balanced"));
}

TEST(AssignDevicesMigTest, APoolMayHaveAStrategyOfItsOwn) {
  device::Snapshot node = TestNode(2);
  AddTestMig(node, 0, {"1g.10gb"});
  AddTestMig(node, 1, {"1g.10gb"});
  const Assignment assignment = AssignDevices(
      node, TestConfig("pools:\n- {resource: x/small, devices: {index: 0}, mig: single}\n"
                       "- {resource: x/gpu, devices: all, mig: mixed}\n"));
  EXPECT_THAT(SlotIds(assignment, "x/small"), ElementsAre(TestMigName(0, 0)));
  EXPECT_THAT(SlotIds(assignment, "nvidia.com/mig-1g.10gb"), ElementsAre(TestMigName(1, 0)));
}

TEST(AssignDevicesMigTest, ASelectorWithProfilesTakesMigDevicesWhateverTheStrategy) {
  device::Snapshot node = TestNode(1);
  AddTestMig(node, 0, {"1g.10gb", "2g.20gb", "3g.40gb"});
  const Assignment assignment =
      AssignDevices(node, TestConfig("pools:\n- {resource: x/small, devices: {mig: 1g.10gb}}\n"
                                     "- {devices: {mig: \"2g.*\"}}\n- {devices: all}\n"));
  EXPECT_THAT(SlotIds(assignment, "x/small"), ElementsAre(TestMigName(0, 0)));
  EXPECT_THAT(SlotIds(assignment, "nvidia.com/mig-2g.20gb"), ElementsAre(TestMigName(0, 1)));
  EXPECT_THAT(SlotIds(assignment, "nvidia.com/gpu"), IsEmpty());
  EXPECT_THAT(ReasonFor(assignment, TestMigName(0, 2)),
              HasSubstr("pools[2] (all) takes whole GPUs"));
}

TEST(AssignDevicesMigTest, AMigDeviceIsTakenByItsUuid) {
  device::Snapshot node = TestNode(1);
  AddTestMig(node, 0, {"1g.10gb", "1g.10gb"});
  const Assignment assignment = AssignDevices(
      node, TestConfig(fmt::format("pools: [{{resource: x/one, devices: {{uuid: {}}}}}]\n",
                                   TestMigName(0, 1))));
  EXPECT_THAT(SlotIds(assignment, "x/one"), ElementsAre(TestMigName(0, 1)));
  EXPECT_THAT(ReasonFor(assignment, TestMigName(0, 0)), HasSubstr("no pool's selector"));
  EXPECT_THAT(assignment.unassigned, SizeIs(1));
}

TEST(AssignDevicesMigTest, AGpuWithAnExcludedMigDeviceIsNotHandedOutWhole) {
  device::Snapshot node = TestNode(1);
  AddTestMig(node, 0, {"1g.10gb", "2g.20gb"});
  const Assignment assignment =
      AssignDevices(node, TestConfig("exclude: [{mig: 2g.20gb}]\npools: [{devices: all}]\n"));
  EXPECT_THAT(SlotIds(assignment, "nvidia.com/gpu"), IsEmpty());
  EXPECT_THAT(ReasonFor(assignment, TestMigName(0, 1)), HasSubstr("excluded by exclude[0]"));
  EXPECT_THAT(ReasonFor(assignment, TestMigName(0, 0)), HasSubstr("takes whole GPUs"));
}

TEST(AssignDevicesMigTest, AGpuOfMigDevicesThatNobodyTakesIsUnassignedAsOne) {
  device::Snapshot node = TestNode(1);
  AddTestMig(node, 0, {"1g.10gb", "2g.20gb"});
  const Assignment assignment =
      AssignDevices(node, TestConfig("pools: [{devices: {model: T4}}]\nmigStrategy: mixed\n"));
  EXPECT_THAT(assignment.unassigned, SizeIs(1));
  EXPECT_THAT(ReasonFor(assignment, TestGpuName(0)), HasSubstr("no pool's selector"));
}

TEST(AssignDevicesMigTest, AMigDeviceWithoutAProfileIsRefused) {
  device::Snapshot node = TestNode(1);
  AddTestMig(node, 0, {""});
  const Assignment assignment = AssignDevices(node, TestConfig("migStrategy: mixed\n"));
  EXPECT_THAT(ReasonFor(assignment, TestMigName(0, 0)), HasSubstr("would give it an invalid name"));
}

const Resource& OnlyLocal(const Assignment& assignment) {
  static const Resource kNone;
  EXPECT_EQ(assignment.local.size(), 1);
  return assignment.local.empty() ? kNone : assignment.local.front();
}

TEST(AssignmentTest, DevicesOfALocalPoolAreNoResourceOfTheKubelets) {
  const Assignment assignment =
      AssignDevices(TestNode(4), TestConfig("pools:\n- {devices: {index: 0-1}, provider: local}\n"
                                            "- devices: all\n"));
  EXPECT_EQ(SlotIds(assignment, "nvidia.com/gpu"),
            (std::vector<std::string>{TestGpuName(2), TestGpuName(3)}));
  EXPECT_THAT(Names(assignment), ElementsAre("nvidia.com/gpu"));
  const Resource& local = OnlyLocal(assignment);
  EXPECT_EQ(local.name, "kgpu.dev/local");
  ASSERT_EQ(local.slots.size(), 2);
  EXPECT_EQ(local.slots[0].id, TestGpuName(0));
  EXPECT_EQ(local.slots[1].id, TestGpuName(1));
}

TEST(AssignmentTest, ALocalPoolWithoutADeviceIsThere) {
  const Assignment assignment = AssignDevices(
      TestNode(1),
      TestConfig("pools:\n- devices: all\n"
                 "- {resource: example.com/x, devices: {index: 7}, provider: local}\n"));
  EXPECT_EQ(OnlyLocal(assignment).name, "example.com/x");
  EXPECT_TRUE(OnlyLocal(assignment).slots.empty());
}

TEST(AssignmentTest, ALocalPoolLendsNoGpuInMigMode) {
  device::Snapshot snapshot = TestNode(3);
  AddTestMig(snapshot, 1, {"1g.10gb"});
  AddTestMig(snapshot, 2, {});
  const Assignment assignment =
      AssignDevices(snapshot, TestConfig("migStrategy: mixed\npools:\n- provider: local\n"));
  EXPECT_EQ(OnlyLocal(assignment).slots.size(), 1);
  EXPECT_THAT(assignment.resources, IsEmpty());
  EXPECT_THAT(ReasonFor(assignment, TestGpuName(1)), HasSubstr("lends whole GPUs"));
  EXPECT_THAT(ReasonFor(assignment, TestGpuName(2)), HasSubstr("turn MIG off"));
}

TEST(AssignmentTest, ALocalPoolDoesNotLendAGpuOfWhichAPartIsTaken) {
  device::Snapshot snapshot = TestNode(1);
  AddTestMig(snapshot, 0, {"1g.10gb", "2g.20gb"});
  const Assignment assignment =
      AssignDevices(snapshot, TestConfig("pools:\n- devices: {mig: [1g.10gb]}\n"
                                         "- provider: local\n"));
  EXPECT_EQ(SlotIds(assignment, "nvidia.com/mig-1g.10gb").size(), 1);
  EXPECT_TRUE(OnlyLocal(assignment).slots.empty());
  EXPECT_THAT(ReasonFor(assignment, TestMigName(0, 1)), HasSubstr("lends whole GPUs"));
}

TEST(AssignmentTest, APoolOfMigLayoutsHasWhatItsGpusAreMadeOf) {
  const auto config = TestConfig(
      "pools:\n- devices: {memory: \">=80Gi\"}\n  share: {by: mig, layout: [3g.40gb, "
      "2g.20gb]}\n- devices: all\n");
  device::Snapshot node = TestNode(3);
  AddTestMig(node, 1, {"3g.40gb", "2g.20gb"});
  node.gpus[2].mig_mode.reset();
  const Assignment assignment = AssignDevices(node, config);
  // MIG devices stay in the pool of their GPU, whatever their own memory.
  EXPECT_THAT(SlotIds(assignment, "nvidia.com/mig-3g.40gb"), ElementsAre(TestMigName(1, 0)));
  EXPECT_THAT(SlotIds(assignment, "nvidia.com/mig-2g.20gb"), ElementsAre(TestMigName(1, 1)));
  EXPECT_EQ(assignment.Find("nvidia.com/mig-2g.20gb")->share, sharing::Share());
  EXPECT_THAT(SlotIds(assignment, "nvidia.com/gpu"), IsEmpty());
  EXPECT_THAT(ReasonFor(assignment, TestGpuName(0)),
              HasSubstr("gives it the MIG layout 3g.40gb,2g.20gb, which it does not have yet"));
  EXPECT_THAT(ReasonFor(assignment, TestGpuName(2)), HasSubstr("this model has no MIG"));
}

TEST(AssignmentTest, APoolOfMigLayoutsMayNameItsResource) {
  const auto config = TestConfig(
      "pools:\n- resource: x.io/part\n  devices: all\n  share: {by: mig, layout: [3g.40gb, "
      "3g.40gb]}\n");
  device::Snapshot node = TestNode(2);
  AddTestMig(node, 1, {"3g.40gb", "3g.40gb"});
  EXPECT_THAT(SlotIds(AssignDevices(node, config), "x.io/part"),
              ElementsAre(TestMigName(1, 0), TestMigName(1, 1)));
}

}  // namespace
}  // namespace kgpu::pools
