#include "src/node/telemetry/attribution.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/node/telemetry/test_node.h"

namespace kgpu::telemetry {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

const pods::Container kOne{"ns", "one", "main", ""};
const pods::Container kTwo{"ns", "two", "main", ""};

class AttributionTest : public ::testing::Test {
 protected:
  AttributionTest() {
    snapshot_.gpus = {TestGpu(0)};
    samples_.gpus = {TestSample(0)};
  }

  void Give(const std::string& id, const pods::Container& user) {
    pods_.devices.push_back({.resource = "nvidia.com/gpu", .device_id = id, .user = user});
  }
  void GiveSlot(unsigned replica, const pods::Container& user) {
    Give(fmt::format("{}::{}", TestGpuUuid(0).str(), replica), user);
  }
  device::ProcessSample& RunProcess(unsigned pid, uint64_t mib, double sm,
                                    const pods::Container* user) {
    samples_.gpus[0].processes.push_back(TestProcess(pid, mib, sm));
    if (user != nullptr) {
      pods_.processes[pid] = *user;
    }
    return samples_.gpus[0].processes.back();
  }
  void MakeMig() {
    for (unsigned i = 0; i < 2; ++i) {
      device::MigDevice mig;
      mig.uuid = TestMigUuid(0, i);
      mig.gpu_instance = i + 1;
      mig.profile = "1g.10gb";
      snapshot_.gpus[0].mig_devices.push_back(mig);
    }
  }
  Attribution Run() { return Attribute(snapshot_, &samples_, pods_); }

  device::Snapshot snapshot_;
  device::SampleSet samples_;
  pods::PodMap pods_;
};

TEST_F(AttributionTest, TellsContainersOfOneGpuApartByTheirProcesses) {
  GiveSlot(0, kOne);
  GiveSlot(1, kTwo);
  RunProcess(10, 1000, 30, &kOne);
  RunProcess(11, 500, 20, &kOne);
  RunProcess(20, 300, 5, &kTwo);
  const Attribution result = Run();
  ASSERT_THAT(result.containers, SizeIs(2));
  EXPECT_EQ(result.containers[0].user, kOne);
  EXPECT_EQ(result.containers[0].memory, MebiBytes(1500));
  EXPECT_EQ(result.containers[0].sm, 50);
  EXPECT_EQ(result.containers[0].processes, 2U);
  EXPECT_EQ(result.containers[1].user, kTwo);
  EXPECT_EQ(result.containers[1].memory, MebiBytes(300));
  EXPECT_EQ(result.containers[1].sm, 5);
}

TEST_F(AttributionTest, ContainersTogetherNeverUseMoreThanTheGpu) {
  GiveSlot(0, kOne);
  GiveSlot(1, kTwo);
  RunProcess(10, 1000, 90, &kOne);
  RunProcess(20, 300, 60, &kTwo);
  const Attribution result = Run();
  ASSERT_THAT(result.containers, SizeIs(2));
  EXPECT_EQ(result.containers[0].sm, 60);
  EXPECT_EQ(result.containers[1].sm, 40);
}

TEST_F(AttributionTest, CountsAProcessOfTwoListsOnce) {
  GiveSlot(0, kOne);
  RunProcess(10, 1000, 30, &kOne);
  RunProcess(10, 1000, 30, &kOne).kind = device::ProcessKind::kGraphics;
  const Attribution result = Run();
  ASSERT_THAT(result.containers, SizeIs(1));
  EXPECT_EQ(result.containers[0].memory, MebiBytes(1000));
  EXPECT_EQ(result.containers[0].processes, 1U);
  EXPECT_THAT(result.processes, SizeIs(1));
}

TEST_F(AttributionTest, AContainerWithoutProcessesUsesNothing) {
  GiveSlot(0, kOne);
  const Attribution result = Run();
  ASSERT_THAT(result.containers, SizeIs(1));
  EXPECT_EQ(result.containers[0].memory, Bytes{0});
  EXPECT_EQ(result.containers[0].sm, 0);
}

TEST_F(AttributionTest, NothingIsClaimedWhileProcessesCannotBePlaced) {
  GiveSlot(0, kOne);
  pods_.problem = "no container runtime answers";
  RunProcess(10, 1000, 30, nullptr);
  const Attribution result = Run();
  ASSERT_THAT(result.containers, SizeIs(1));
  EXPECT_FALSE(result.containers[0].memory.has_value());
  EXPECT_FALSE(result.containers[0].sm.has_value());
}

TEST_F(AttributionTest, ASumLacksNoPart) {
  GiveSlot(0, kOne);
  RunProcess(10, 1000, 30, &kOne);
  RunProcess(11, 1000, 30, &kOne).sm.reset();  // a client of MPS
  const Attribution result = Run();
  ASSERT_THAT(result.containers, SizeIs(1));
  EXPECT_FALSE(result.containers[0].sm.has_value());
  EXPECT_EQ(result.containers[0].memory, MebiBytes(2000));
}

TEST_F(AttributionTest, PlacesProcessesOnTheirMigDevice) {
  MakeMig();
  Give(TestMigUuid(0, 1).str(), kOne);
  device::ProcessSample& process = RunProcess(10, 700, 0, &kOne);
  process.gpu_instance = 2;
  process.compute_instance = 0;
  process.sm.reset();
  const Attribution result = Run();
  ASSERT_THAT(result.containers, SizeIs(1));
  EXPECT_EQ(result.containers[0].mig, &snapshot_.gpus[0].mig_devices[1]);
  EXPECT_EQ(result.containers[0].memory, MebiBytes(700));
  EXPECT_FALSE(result.containers[0].sm.has_value());
}

TEST_F(AttributionTest, AContainerThatHoldsNoDeviceIsSeenByItsProcess) {
  RunProcess(10, 1000, 30, &kOne);
  const Attribution result = Run();
  ASSERT_THAT(result.containers, SizeIs(1));
  EXPECT_EQ(result.containers[0].slots, 0U);
  EXPECT_EQ(result.containers[0].memory, MebiBytes(1000));
}

TEST_F(AttributionTest, TheUidOfAPodMakesNoSecondContainer) {
  GiveSlot(0, kOne);
  pods::Container with_uid = kOne;
  with_uid.pod_uid = "123";
  RunProcess(10, 1000, 30, &with_uid);
  const Attribution result = Run();
  ASSERT_THAT(result.containers, SizeIs(1));
  EXPECT_EQ(result.containers[0].slots, 1U);
  EXPECT_EQ(result.containers[0].user.pod_uid, "123");
}

TEST_F(AttributionTest, DevicesOfOthersAreNotOurs) {
  Give("rdma0", kOne);
  const Attribution result = Run();
  EXPECT_THAT(result.containers, IsEmpty());
  EXPECT_THAT(result.resources, IsEmpty());
}

TEST_F(AttributionTest, AWholeGpuIsItsOneContainers) {
  Give(TestGpuUuid(0).str(), kOne);
  EXPECT_EQ(OwnerOf(pods_, TestGpuUuid(0).str()), (Owner{"ns", "one", "main"}));
}

TEST_F(AttributionTest, ContainersOfOnePodLeaveThePod) {
  Give(TestGpuUuid(0).str(), kOne);
  Give(TestGpuUuid(0).str(), {"ns", "one", "sidecar", ""});
  EXPECT_EQ(OwnerOf(pods_, TestGpuUuid(0).str()), (Owner{"ns", "one", ""}));
}

TEST_F(AttributionTest, ASharedGpuIsNobodysEvenWithOneContainer) {
  GiveSlot(0, kOne);
  EXPECT_EQ(OwnerOf(pods_, TestGpuUuid(0).str()), Owner());
}

}  // namespace
}  // namespace kgpu::telemetry
