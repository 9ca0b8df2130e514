#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/node/pools/test_node.h"
#include "src/node/sharing/memory/memory.h"
#include "src/node/sharing/mps/mps.h"

namespace kgpu::pools {
namespace {

using sharing::SliceSize;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// 80 GiB, of which the driver keeps 600 MiB.
constexpr Bytes kUsable{(uint64_t{80} << 30) - (uint64_t{600} << 20)};

sharing::Share ByMemory(std::optional<SliceSize> size, std::vector<SliceSize> layout = {}) {
  return {.by = &sharing::kMemory, .size = size, .layout = std::move(layout)};
}
StatusOr<std::vector<sharing::Cut>> CutsOf(const sharing::Share& share,
                                           std::optional<Bytes> usable) {
  return share.by->CutsOf(share, usable);
}
SliceSize Gibi(uint64_t gibi) {
  return {.bytes = GibiBytes(gibi)};
}

TEST(SlicesTest, AsManyOfAnAmountAsFitIntoTheUsableMemory) {
  const auto cuts = CutsOf(ByMemory(Gibi(20)), kUsable);
  ASSERT_OK(cuts);
  ASSERT_EQ(cuts->size(), 1U);
  EXPECT_EQ(cuts->front().slots, 3U);
  EXPECT_EQ(cuts->front().limits.memory, GibiBytes(20));
}

TEST(SlicesTest, PartsDivideAllThatIsUsable) {
  for (unsigned parts = 2; parts <= 200; ++parts) {
    const auto cuts = CutsOf(ByMemory(SliceSize{.parts = parts}), kUsable);
    ASSERT_OK(cuts);
    EXPECT_EQ(cuts->front().slots, parts);
    const uint64_t sum = cuts->front().limits.memory->count * parts;
    EXPECT_LE(sum, kUsable.count);
    EXPECT_GT(sum + (uint64_t{parts} << 20), kUsable.count) << "less than a MiB each is lost";
  }
}

TEST(SlicesTest, EachSlotHasItsShareOfTheTime) {
  sharing::Share share = ByMemory(Gibi(20));
  share.compute = {.kind = sharing::ComputeShare::Kind::kPercent, .percent = 33};
  const auto cuts = CutsOf(share, kUsable);
  ASSERT_OK(cuts);
  EXPECT_EQ(cuts->front().limits.compute, 33U);
  share.compute.percent = 34;
  EXPECT_THAT(CutsOf(share, kUsable),
              StatusIs(StatusCode::kFailedPrecondition,
                       HasSubstr("3 slices with compute: 34 are 102 % of its time: set compute: 33 "
                                 "or less, or proportional")));
}

TEST(SlicesTest, ProportionalSharesNeverAddUpToMoreThanTheDevice) {
  sharing::Share share = ByMemory({}, {Gibi(40), Gibi(20), Gibi(10)});
  share.compute = {.kind = sharing::ComputeShare::Kind::kProportional};
  const auto cuts = CutsOf(share, kUsable);
  ASSERT_OK(cuts);
  EXPECT_EQ((*cuts)[0].limits.compute, 50U);
  EXPECT_EQ((*cuts)[1].limits.compute, 25U);
  EXPECT_EQ((*cuts)[2].limits.compute, 12U);
  for (unsigned parts = 2; parts <= 100; ++parts) {
    share = ByMemory(SliceSize{.parts = parts});
    share.compute = {.kind = sharing::ComputeShare::Kind::kProportional};
    const auto equal = CutsOf(share, kUsable);
    ASSERT_OK(equal);
    EXPECT_LE(equal->front().limits.compute * parts, 100U);
    EXPECT_GE(equal->front().limits.compute, 1U);
  }
  share.size = SliceSize{.parts = 101};
  EXPECT_THAT(CutsOf(share, kUsable), StatusIs(StatusCode::kFailedPrecondition,
                                               HasSubstr("101 slices are too many for 1 %")));
}

TEST(SlicesTest, ALayoutIsExactlyWhatItLists) {
  const auto cuts = CutsOf(ByMemory({}, {Gibi(30), Gibi(10), {.parts = 4}, Gibi(10)}), kUsable);
  ASSERT_OK(cuts);
  ASSERT_EQ(cuts->size(), 3U);
  EXPECT_EQ((*cuts)[0].slots, 1U);
  EXPECT_EQ((*cuts)[1].slots, 2U);
  EXPECT_EQ((*cuts)[2].limits.memory, MebiBytes((kUsable.count / 4) >> 20));
}

TEST(SlicesTest, NeverMoreThanTheDeviceHas) {
  EXPECT_THAT(CutsOf(ByMemory({}, {Gibi(40), Gibi(40)}), kUsable),
              StatusIs(StatusCode::kFailedPrecondition,
                       HasSubstr("the layout takes 80 GiB, but programs can use 79.4 GiB")));
  EXPECT_THAT(CutsOf(ByMemory(Gibi(80)), kUsable),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("set a smaller size")));
  EXPECT_THAT(CutsOf(ByMemory(SliceSize{.parts = 1000}), kUsable),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("a CUDA context takes 320Mi")));
  EXPECT_THAT(CutsOf(ByMemory(Gibi(1)), std::nullopt),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("does not report its memory")));
}

sharing::Share ByMps(unsigned replicas, std::optional<SliceSize> size = {},
                     std::vector<SliceSize> layout = {}) {
  sharing::Share share = ByMemory(size, std::move(layout));
  share.by = &sharing::kMps;
  share.replicas = replicas;
  return share;
}

TEST(MpsSlicesTest, ReplicasAreEqualPartsOfMemoryAndThreads) {
  const auto cuts = CutsOf(ByMps(4), kUsable);
  ASSERT_OK(cuts);
  ASSERT_EQ(cuts->size(), 1U);
  EXPECT_EQ(cuts->front().slots, 4U);
  EXPECT_EQ(cuts->front().limits.threads, 25U);
  EXPECT_EQ(cuts->front().limits.memory, MebiBytes((kUsable.count / 4) >> 20));
  EXPECT_EQ(cuts->front().share, ByMps(4)) << "without a size, which would be in its name";
}

TEST(MpsSlicesTest, UnequalSharesHaveTheThreadsOfTheirMemory) {
  const auto cuts = CutsOf(ByMps(1, {}, {Gibi(40), Gibi(20), {.parts = 8}}), kUsable);
  ASSERT_OK(cuts);
  ASSERT_EQ(cuts->size(), 3U);
  EXPECT_EQ((*cuts)[0].limits.threads, 50U);
  EXPECT_EQ((*cuts)[1].limits.threads, 25U);
  EXPECT_EQ((*cuts)[2].limits.threads, 12U);
  sharing::Share fixed = ByMps(1, Gibi(2));
  fixed.threads = 100;
  EXPECT_EQ(CutsOf(fixed, kUsable)->front().limits.threads, 100U);
  EXPECT_EQ(CutsOf(ByMps(1, SliceSize{.bytes = MebiBytes(512)}, {}), GibiBytes(8))
                ->front()
                .limits.threads,
            6U);
}

TEST(MpsSlicesTest, NoMoreSlotsThanAServerTakesPrograms) {
  EXPECT_EQ(CutsOf(ByMps(48), kUsable)->front().limits.threads, 2U);
  EXPECT_THAT(CutsOf(ByMps(1, Gibi(1)), kUsable),
              StatusIs(StatusCode::kFailedPrecondition,
                       HasSubstr("79 slots, but an MPS server takes 48 programs")));
}

TEST(MpsSlicesTest, OnlyFromVoltaOnAndNotInMigMode) {
  device::Snapshot snapshot = TestNode(4);
  for (device::Gpu& gpu : snapshot.gpus) {
    gpu.usable_memory = kUsable;
  }
  snapshot.gpus[0].compute = device::ComputeCapability{.major = 6, .minor = 1};
  snapshot.gpus[1].compute = device::ComputeCapability{.major = 7, .minor = 0};
  AddTestMig(snapshot, 3, {"1g.10gb"});
  const Assignment assignment = AssignDevices(
      snapshot,
      TestConfig("migStrategy: mixed\npools:\n- devices: all\n  share: {by: mps, replicas: 2}\n"));
  EXPECT_THAT(
      ReasonFor(assignment, TestGpuName(0)),
      HasSubstr("its compute capability is 6.1, and MPS limits memory and threads from 7.0"));
  EXPECT_THAT(ReasonFor(assignment, TestMigName(3, 0)), HasSubstr("are not shared by MPS"));
  EXPECT_THAT(SlotIds(assignment, "nvidia.com/gpu"),
              ElementsAre(TestGpuName(1) + "::0", TestGpuName(1) + "::1", TestGpuName(2) + "::0",
                          TestGpuName(2) + "::1"));
  const Assignment whole = AssignDevices(
      snapshot,
      TestConfig("migStrategy: none\npools:\n- devices: all\n  share: {by: mps, replicas: 2}\n"));
  EXPECT_THAT(ReasonFor(whole, TestGpuName(3)), HasSubstr("turn MIG off"));
}

// One GPU of 80 GiB of which 79.4 are usable.
device::Snapshot Node(unsigned gpus) {
  device::Snapshot snapshot = TestNode(gpus);
  for (device::Gpu& gpu : snapshot.gpus) {
    gpu.usable_memory = kUsable;
  }
  return snapshot;
}

TEST(SlicesTest, SlicesAreResourcesByTheirSize) {
  const Assignment assignment =
      AssignDevices(Node(3), TestConfig("pools:\n"
                                        "- devices: {index: 0}\n"
                                        "  share: {by: memory, size: 20Gi}\n"
                                        "- devices: {index: 1}\n"
                                        "  share: {by: memory, layout: [40Gi, 20Gi]}\n"
                                        "- devices: all\n"));
  EXPECT_THAT(Names(assignment),
              ElementsAre("nvidia.com/gpu", "nvidia.com/gpu-20gi", "nvidia.com/gpu-40gi"));
  const std::string first = TestGpuName(0);
  const std::string second = TestGpuName(1);
  EXPECT_THAT(SlotIds(assignment, "nvidia.com/gpu-20gi"),
              ElementsAre(first + "::0", first + "::1", first + "::2", second + "::1"));
  EXPECT_THAT(SlotIds(assignment, "nvidia.com/gpu-40gi"), ElementsAre(second + "::0"));
  EXPECT_EQ(assignment.Find("nvidia.com/gpu-40gi")->slots.front().memory, GibiBytes(40));
  EXPECT_EQ(assignment.Find("nvidia.com/gpu")->slots.front().memory, std::nullopt);
  EXPECT_THAT(assignment.unassigned, IsEmpty());
}

TEST(SlicesTest, SlicesThatLeaveMuchUnusedAreNoted) {
  const auto hints = [](const char* share) {
    return AssignDevices(Node(2),
                         TestConfig(fmt::format("pools:\n- devices: all\n  share: {}\n", share)))
        .hints;
  };
  EXPECT_THAT(hints("{by: memory, size: 20Gi}"),
              ElementsAre("pools[0] (all): slices of 20Gi leave 19.4 GiB of each A100-SXM4-80GB "
                          "unused: size: 1/4 makes 4 slices of 19.8 GiB"));
  EXPECT_THAT(hints("{by: memory, size: 19Gi}"), IsEmpty());
  EXPECT_THAT(hints("{by: memory, size: 1/3}"), IsEmpty());
  EXPECT_THAT(hints("{by: time, replicas: 2}"), IsEmpty());
}

TEST(SlicesTest, TheNameMayHaveModelAndSize) {
  const Assignment assignment =
      AssignDevices(Node(1), TestConfig("pools:\n"
                                        "- resource: x.io/{model}-{size}\n"
                                        "  devices: all\n"
                                        "  share: {by: memory, size: 1/2}\n"));
  EXPECT_EQ(SlotIds(assignment, "x.io/A100-SXM4-80GB-1of2").size(), 2U);
}

TEST(SlicesTest, MigDevicesHaveSlicesOfTheirOwnMemory) {
  device::Snapshot snapshot = Node(1);
  AddTestMig(snapshot, 0, {"1g.10gb", "1g.10gb"});
  const Assignment assignment =
      AssignDevices(snapshot, TestConfig("pools:\n"
                                         "- devices: {mig: 1g.10gb}\n"
                                         "  share: {by: memory, size: 4Gi}\n"));
  EXPECT_THAT(SlotIds(assignment, "nvidia.com/gpu-4gi"),
              ElementsAre(TestMigName(0, 0) + "::0", TestMigName(0, 0) + "::1",
                          TestMigName(0, 1) + "::0", TestMigName(0, 1) + "::1"));
}

TEST(SlicesTest, ADeviceThatCannotBeDividedIsUnassigned) {
  const Assignment assignment = AssignDevices(
      Node(1), TestConfig("pools:\n- devices: all\n  share: {by: memory, layout: [40Gi, 40Gi]}\n"));
  EXPECT_THAT(ReasonFor(assignment, TestGpuName(0)),
              HasSubstr("pools[0] (all): the layout takes 80 GiB"));
  // The kubelet learns that there are none.
  EXPECT_THAT(Names(assignment), ElementsAre("nvidia.com/gpu-40gi"));
}

TEST(SlicesTest, OneResourceWithTwoKindsOfLimitsIsRefused) {
  const Assignment assignment =
      AssignDevices(Node(2), TestConfig("pools:\n"
                                        "- devices: {index: 0}\n"
                                        "  share: {by: memory, size: 20Gi}\n"
                                        "- devices: {index: 1}\n"
                                        "  share: {by: memory, size: 20Gi, pinned: true}\n"));
  EXPECT_EQ(SlotIds(assignment, "nvidia.com/gpu-20gi").size(), 3U);
  EXPECT_THAT(ReasonFor(assignment, TestGpuName(1)), HasSubstr("with other share settings"));
}

}  // namespace
}  // namespace kgpu::pools
