#include "src/node/pools/change_guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "src/node/pools/test_node.h"

namespace kgpu::pools {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kWhole = "pools:\n- devices: all\n";
constexpr const char* kShared = "pools:\n- devices: all\n  share: {by: time, replicas: 2}\n";
constexpr const char* kSecond = "pools:\n- {devices: {index: 1}, mig: mixed}\n";

class ChangeGuardTest : public ::testing::Test {
 protected:
  Assignment Apply(std::string_view config) { return Apply(config, TestNode(2)); }
  Assignment Apply(std::string_view config, const device::Snapshot& snapshot) {
    Assignment assignment = AssignDevices(snapshot, TestConfig(config));
    guard_.Apply(assignment, shown_, now_, [this](const std::string& device, SteadyTime since) {
      asked_since_[device] = since;
      return busy_.contains(device) ? std::string("pod a/b holds it") : std::string();
    });
    shown_ = assignment;
    return assignment;
  }
  bool IsWaiting() const { return guard_.waiting_since().has_value(); }

  ChangeGuard guard_;
  Assignment shown_;
  SteadyTime now_{seconds(1)};
  std::set<std::string> busy_;
  std::map<std::string, SteadyTime> asked_since_;
  const std::string first_ = TestGpuName(0);
  const std::string second_ = TestGpuName(1);
};

TEST_F(ChangeGuardTest, NewDevicesAreShownAtOnce) {
  busy_ = {first_, second_};
  EXPECT_EQ(SlotIds(Apply(kWhole), "nvidia.com/gpu").size(), 2U);
  EXPECT_FALSE(IsWaiting());
  // The same again, and with a device more.
  EXPECT_EQ(SlotIds(Apply(kWhole, TestNode(3)), "nvidia.com/gpu").size(), 3U);
  EXPECT_THAT(asked_since_, IsEmpty());
}

TEST_F(ChangeGuardTest, AShareOfTheTimeIsAChange) {
  device::Snapshot node = TestNode(2);
  for (device::Gpu& gpu : node.gpus) {
    gpu.usable_memory = GibiBytes(79);
  }
  const auto slices = [](unsigned compute) {
    return fmt::format("pools:\n- devices: all\n  share: {{by: memory, size: 20Gi, compute: {}}}\n",
                       compute);
  };
  Apply(slices(20), node);
  busy_ = {first_};
  now_ += seconds(5);
  const Assignment assignment = Apply(slices(30), node);
  EXPECT_EQ(SlotIds(assignment, "nvidia.com/gpu-20gi").size(), 3U);
  EXPECT_THAT(ReasonFor(assignment, first_), HasSubstr("pod a/b holds it"));
}

TEST_F(ChangeGuardTest, IdleDevicesChangeAndBusyOnesWait) {
  Apply(kWhole);
  busy_ = {first_};
  now_ += seconds(5);
  Assignment assignment = Apply(kShared);
  EXPECT_THAT(SlotIds(assignment, "nvidia.com/gpu"), ElementsAre(second_ + "::0", second_ + "::1"));
  EXPECT_THAT(ReasonFor(assignment, first_), HasSubstr("pod a/b holds it"));
  EXPECT_TRUE(assignment.unassigned.at(0).is_changing);
  EXPECT_TRUE(IsWaiting());
  const SteadyTime withdrawn = now_;
  for (int i = 0; i < 100; ++i) {
    now_ += seconds(60);
    Apply(kShared);
    EXPECT_EQ(asked_since_[first_], withdrawn);
  }
  busy_.clear();
  assignment = Apply(kShared);
  EXPECT_EQ(SlotIds(assignment, "nvidia.com/gpu").size(), 4U);
  EXPECT_THAT(assignment.unassigned, IsEmpty());
  EXPECT_FALSE(IsWaiting());
}

TEST_F(ChangeGuardTest, TheSameSlicesByMpsAreAnotherThing) {
  device::Snapshot snapshot = TestNode(2);
  for (device::Gpu& gpu : snapshot.gpus) {
    gpu.usable_memory = GibiBytes(80);
  }
  const std::string memory = "pools:\n- devices: all\n  share: {by: memory, size: 20Gi}\n";
  const std::string mps = "pools:\n- devices: all\n  share: {by: mps, size: 20Gi}\n";
  Apply(memory, snapshot);
  busy_ = {first_};
  EXPECT_THAT(ReasonFor(Apply(mps, snapshot), first_), HasSubstr("pod a/b holds it"));
  busy_.clear();
  EXPECT_EQ(SlotIds(Apply(mps, snapshot), "nvidia.com/gpu-20gi").size(), 8U);
}

// A daemon has other limits if slots add up, and its programs end with it.
TEST_F(ChangeGuardTest, WhetherSlotsOfMpsAddUpIsAChange) {
  device::Snapshot snapshot = TestNode(2);
  for (device::Gpu& gpu : snapshot.gpus) {
    gpu.usable_memory = GibiBytes(80);
  }
  const std::string refuse = "pools:\n- devices: all\n  share: {by: mps, replicas: 4}\n";
  const std::string allow =
      "pools:\n- devices: all\n  share: {by: mps, replicas: 4, multiple: allow}\n";
  for (const auto& [before, after] : {std::pair(refuse, allow), std::pair(allow, refuse)}) {
    busy_.clear();
    Apply(before, snapshot);
    busy_ = {first_};
    EXPECT_THAT(ReasonFor(Apply(after, snapshot), first_), HasSubstr("pod a/b holds it"));
    EXPECT_EQ(SlotIds(guard_.held(), "nvidia.com/gpu").size(), 4U);
  }
}

TEST_F(ChangeGuardTest, WithoutMpsSeveralSlotsAreNoOtherThing) {
  Apply("pools:\n- devices: all\n  share: {by: time, replicas: 2, multiple: refuse}\n");
  busy_ = {first_, second_};
  Apply("pools:\n- devices: all\n  share: {by: time, replicas: 2, multiple: allow}\n");
  EXPECT_FALSE(IsWaiting());
}

TEST_F(ChangeGuardTest, GoingBackNeedsNoWait) {
  Apply(kWhole);
  busy_ = {first_, second_};
  Apply(kShared);
  ASSERT_TRUE(IsWaiting());
  EXPECT_EQ(SlotIds(Apply(kWhole), "nvidia.com/gpu").size(), 2U);
  EXPECT_FALSE(IsWaiting());
}

TEST_F(ChangeGuardTest, ADeviceThatWasAwayIsStillWhatItWas) {
  Apply(kWhole);
  Apply(kWhole, TestNode(1));
  busy_ = {second_};
  EXPECT_THAT(ReasonFor(Apply(kShared), second_), HasSubstr("pod a/b holds it"));
  // And one that vanishes while it waits is no reason to look.
  busy_ = {first_, second_};
  Apply(kShared);
  Apply(kShared, TestNode(0));
  EXPECT_FALSE(IsWaiting());
}

TEST_F(ChangeGuardTest, RecallsWhatAnEarlierAgentHasShown) {
  Apply(kWhole);
  ChangeGuard::Shapes shapes = guard_.shapes();
  guard_ = ChangeGuard();
  guard_.Recall(std::move(shapes), {});
  busy_ = {first_};
  EXPECT_THAT(SlotIds(Apply(kShared), "nvidia.com/gpu"),
              ElementsAre(second_ + "::0", second_ + "::1"));
}

TEST_F(ChangeGuardTest, AnAgentThatRestartsDuringAChangeKeepsWaiting) {
  Apply(kWhole);
  busy_ = {first_};
  Apply(kShared);
  ChangeGuard::Shapes shapes = guard_.shapes();
  guard_ = ChangeGuard();
  guard_.Recall(std::move(shapes), {});
  now_ += seconds(60);
  EXPECT_THAT(ReasonFor(Apply(kShared), first_), HasSubstr("pod a/b holds it"));
  EXPECT_EQ(asked_since_[first_], now_) << "what was given out meanwhile must be known";
}

// Containers still use them, with the limits that they had.
TEST_F(ChangeGuardTest, SlotsOfWithdrawnDevicesOutliveTheAgent) {
  Apply(kShared);
  busy_ = {first_};
  Apply(kWhole);
  const std::vector<Resource> held = guard_.held().resources;
  ASSERT_EQ(held.size(), 1U);
  ASSERT_EQ(held[0].slots.size(), 2U);
  for (const bool has_driver : {true, false}) {
    ChangeGuard::Shapes shapes = guard_.shapes();
    std::vector<Resource> slots = guard_.MakeRecall();
    guard_ = ChangeGuard();
    shown_ = {};
    guard_.Recall(std::move(shapes), std::move(slots));
    if (!has_driver) {
      Apply(kWhole, TestNode(0));
      EXPECT_THAT(guard_.held().resources, IsEmpty());
      EXPECT_EQ(guard_.MakeRecall(), held) << "for another restart";
    }
    Apply(kWhole);
    EXPECT_EQ(guard_.held().resources, held);
    EXPECT_EQ(guard_.MakeRecall(), held);
  }
  busy_.clear();
  Apply(kWhole);
  EXPECT_THAT(guard_.MakeRecall(), IsEmpty());
}

// The configuration was changed while no agent ran.
TEST_F(ChangeGuardTest, RecalledSlotsOfDevicesThatStayWhatTheyAreAreNotHeld) {
  Apply(kShared);
  ChangeGuard::Shapes shapes = guard_.shapes();
  std::vector<Resource> slots = shown_.resources;
  guard_ = ChangeGuard();
  shown_ = {};
  guard_.Recall(std::move(shapes), std::move(slots));
  busy_ = {first_};
  Apply(kWhole);
  ASSERT_EQ(guard_.held().resources.size(), 1U);
  for (const Slot& slot : guard_.held().resources[0].slots) {
    EXPECT_EQ(slot.device_uuid, first_);
  }
}

TEST_F(ChangeGuardTest, AGpuAndItsMigDevicesAreTheSameMemory) {
  const device::Snapshot whole = TestNode(1);
  device::Snapshot snapshot = whole;
  AddTestMig(snapshot, 0, {"3g.40gb", "3g.40gb"});
  constexpr const char* kMig = "migStrategy: mixed\n";
  const std::string mig = TestMigName(0, 0);
  Apply("migStrategy: none\n", whole);
  busy_ = {first_};
  EXPECT_THAT(ReasonFor(Apply(kMig, snapshot), mig), HasSubstr("pod a/b holds it"));
  busy_.clear();
  EXPECT_EQ(SlotIds(Apply(kMig, snapshot), "nvidia.com/mig-3g.40gb").size(), 2U);
  // And back, while one of them is in use.
  busy_ = {mig};
  EXPECT_THAT(ReasonFor(Apply("migStrategy: none\n", whole), first_),
              HasSubstr("pod a/b holds it"));
  busy_.clear();
  EXPECT_EQ(SlotIds(Apply("migStrategy: none\n", whole), "nvidia.com/gpu").size(), 1U);
}

TEST_F(ChangeGuardTest, MigDevicesComeAndGoWithoutWaiting) {
  device::Snapshot snapshot = TestNode(1);
  AddTestMig(snapshot, 0, {"3g.40gb"});
  Apply("migStrategy: mixed\n", snapshot);
  busy_ = {TestMigName(0, 0)};
  for (int i = 0; i < 1000; ++i) {
    snapshot.gpus[0].mig_devices.resize(1);
    device::MigDevice other = snapshot.gpus[0].mig_devices[0];
    other.uuid = *device::MigUuid::Parse(fmt::format("MIG-7c1d4bd0-85a5-5d5a-b9c5-0000{:08x}", i));
    snapshot.gpus[0].mig_devices.push_back(other);
    EXPECT_EQ(SlotIds(Apply("migStrategy: mixed\n", snapshot), "nvidia.com/mig-3g.40gb").size(),
              2U);
  }
  EXPECT_LE(guard_.shapes().size(), 2U + 128U);
  EXPECT_TRUE(guard_.shapes().contains(TestMigName(0, 0)));
}

// Found by a soak run: a GPU of a local pool, MIG devices that come and go, a restart.
TEST_F(ChangeGuardTest, ADeviceThatAPodHoldsIsNotForgotten) {
  Apply(kWhole);
  busy_ = {first_};
  ChangeGuard::Shapes shapes = guard_.shapes();
  const auto come_and_go = [&](unsigned from) {
    for (unsigned i = from; i < from + 150; ++i) {
      device::Snapshot snapshot = TestNode(2);
      AddTestMig(snapshot, 1, {"3g.40gb"});
      snapshot.gpus[1].mig_devices[0].uuid = *device::MigUuid::Parse(TestMigName(1, i));
      Apply(kSecond, snapshot);
    }
  };
  come_and_go(1);
  guard_ = ChangeGuard();
  guard_.Recall(std::exchange(shapes, {}), {});
  come_and_go(200);
  EXPECT_LE(guard_.shapes().size(), 2U + 128U);
  const Assignment assignment = Apply(kShared);
  EXPECT_THAT(ReasonFor(assignment, first_), HasSubstr("pod a/b holds it"));
}

// Found by a soak run: the same while the kubelet is away, so that any device may be in use. A
// saved state does not have the order in which devices were seen.
TEST_F(ChangeGuardTest, AGpuIsNotForgottenWhileNoListOfPodsIsKnown) {
  ChangeGuard::Shapes shapes;
  shapes[first_] = {.card = first_, .slots = 1};
  busy_ = {first_};
  for (unsigned i = 1; i < 150; ++i) {
    shapes[TestMigName(1, i)] = {.card = second_, .slots = 1};
    busy_.insert(TestMigName(1, i));
  }
  guard_.Recall(std::move(shapes), {});
  device::Snapshot snapshot = TestNode(2);
  AddTestMig(snapshot, 1, {"3g.40gb"});
  Apply(kSecond, snapshot);
  EXPECT_LE(guard_.shapes().size(), 2U + 128U);
  EXPECT_THAT(ReasonFor(Apply(kShared), first_), HasSubstr("pod a/b holds it"));
}

TEST_F(ChangeGuardTest, HoldsTheSlotsThatContainersMayStillUse) {
  Apply(kShared);
  busy_ = {first_};
  Apply(kWhole);
  Apply(kWhole);
  EXPECT_THAT(SlotIds(guard_.held(), "nvidia.com/gpu"),
              ElementsAre(first_ + "::0", first_ + "::1"));
  busy_.clear();
  Apply(kWhole);
  EXPECT_THAT(guard_.held().resources, IsEmpty());
}

}  // namespace
}  // namespace kgpu::pools
