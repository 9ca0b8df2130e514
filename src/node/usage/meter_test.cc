#include "src/node/usage/meter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

namespace kgpu::usage {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::FieldsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr char kMeteredGpu[] = "GPU-00000000-0000-0000-0000-000000000001";
constexpr char kMig[] = "MIG-00000000-0000-0000-0000-0000000000a1";
constexpr char kResource[] = "nvidia.com/gpu";

const PodName kA{"ml", "a"};
const PodName kB{"ml", "b"};

pods::Container ContainerOf(const PodName& pod, const std::string& name = "main") {
  return {.pod_namespace = pod.pod_namespace, .pod = pod.pod, .container = name, .pod_uid = ""};
}

auto Is(double gpu, double busy, double gib, double unreported = 0) {
  constexpr double kNear = 1e-9;
  return FieldsAre(DoubleNear(gpu, kNear), DoubleNear(busy, kNear), DoubleNear(gib, kNear),
                   DoubleNear(unreported, kNear));
}

// A node with one GPU, an H100 (of seven compute slices).
class MeterTest : public ::testing::Test {
 protected:
  MeterTest() {
    device::Gpu& gpu = snapshot_.gpus.emplace_back();
    gpu.uuid = device::GpuUuid::Parse(kMeteredGpu).value();
    gpu.pci_device_id = 0x2330;
    sample().uuid = gpu.uuid;
  }
  device::GpuSample& sample() {
    return samples_.gpus.empty() ? samples_.gpus.emplace_back() : samples_.gpus[0];
  }
  void Give(const std::string& id, const PodName& pod, const std::string& container = "main") {
    pods_.devices.push_back(
        {.resource = kResource, .device_id = id, .user = ContainerOf(pod, container)});
  }
  void ShareAmong(unsigned replicas) {
    pools::Resource& resource = assignment_.resources.emplace_back();
    for (unsigned replica = 0; replica < replicas; ++replica) {
      resource.slots.push_back({.id = fmt::format("{}::{}", kMeteredGpu, replica),
                                .device_uuid = kMeteredGpu,
                                .gpu = snapshot_.gpus[0].uuid,
                                .replica = replica,
                                .health = {},
                                .numa_node = {}});
    }
  }
  device::ProcessSample& Run(uint32_t pid, const std::optional<PodName>& pod,
                             std::optional<Bytes> memory, std::optional<double> sm) {
    if (pod) {
      pods_.processes[pid] = ContainerOf(*pod);
    }
    device::ProcessSample& process = sample().processes.emplace_back();
    process.pid = pid;
    process.memory = memory;
    process.sm = sm;
    return process;
  }
  // Two of three compute slices of a GPU instance.
  device::MigSample& AddMig() {
    device::MigDevice& mig = snapshot_.gpus[0].mig_devices.emplace_back();
    mig.uuid = device::MigUuid::Parse(kMig).value();
    mig.gpu_instance = 2;
    mig.gpu_instance_slices = 3;
    mig.compute_instance_slices = 2;
    device::MigSample& sampled = sample().migs.emplace_back();
    sampled.uuid = mig.uuid;
    sampled.gpu_instance = 2;
    return sampled;
  }
  Rates Measured() const {
    return RatesOf(
        {.snapshot = snapshot_, .samples = samples_, .pods = pods_, .assignment = assignment_});
  }

  device::Snapshot snapshot_;
  device::SampleSet samples_;
  pods::PodMap pods_;
  pools::Assignment assignment_;
};

TEST_F(MeterTest, AWholeGpuIsThePodsWithAllThatHappensOnIt) {
  Give(kMeteredGpu, kA);
  sample().utilization.gpu = 40;
  Run(1, kA, GibiBytes(2), 30);
  EXPECT_THAT(Measured(), ElementsAre(Pair(kA, Is(1, 0.4, 2))));
}

TEST_F(MeterTest, PodsThatShareAClaimHaveAnEqualPartEach) {
  const pods::ClaimedDevice claim{
      .claim_namespace = "ml", .claim = "c", .driver = "gpu.nvidia.com", .device = "gpu-0"};
  for (const PodName& pod : {kA, kB}) {
    Give(kMeteredGpu, pod);
    pods_.devices.back().claim = claim;
  }
  Run(1, kA, GibiBytes(1), 30);
  Run(2, kB, GibiBytes(2), 50);
  EXPECT_THAT(Measured(), ElementsAre(Pair(kA, Is(0.5, 0.3, 1)), Pair(kB, Is(0.5, 0.5, 2))));
}

TEST_F(MeterTest, TheMeanOfTenSecondsIsBetterThanTheLastPeriod) {
  Give(kMeteredGpu, kA);
  sample().utilization.gpu = 40;
  sample().utilization.duty_cycle = 60;
  EXPECT_THAT(Measured(), ElementsAre(Pair(kA, Is(1, 0.6, 0))));
}

TEST_F(MeterTest, SlotsOfASharedGpuCountTheirPart) {
  ShareAmong(4);
  Give(std::string(kMeteredGpu) + "::0", kA);
  Give(std::string(kMeteredGpu) + "::3", kA);
  Give(std::string(kMeteredGpu) + "::1", kB);
  sample().utilization.gpu = 90;
  Run(1, kA, GibiBytes(2), 30);
  Run(2, kB, GibiBytes(3), 50);
  Run(3, std::nullopt, GibiBytes(8), 10);
  EXPECT_THAT(Measured(), ElementsAre(Pair(kA, Is(0.5, 0.3, 2)), Pair(kB, Is(0.25, 0.5, 3))));
}

TEST_F(MeterTest, ProcessesNeverUseMoreThanTheGpu) {
  ShareAmong(2);
  Give(std::string(kMeteredGpu) + "::0", kA);
  Give(std::string(kMeteredGpu) + "::1", kB);
  Run(1, kA, std::nullopt, 90);
  Run(2, kB, std::nullopt, 60);
  EXPECT_THAT(Measured(), ElementsAre(Pair(kA, Is(0.5, 0.6, 0)), Pair(kB, Is(0.5, 0.4, 0))));
}

TEST_F(MeterTest, UtilisationThatIsNotReportedByProcessIsUnreportedNotZero) {
  ShareAmong(2);
  Give(std::string(kMeteredGpu) + "::0", kA);
  Give(std::string(kMeteredGpu) + "::1", kB);
  sample().utilization.gpu = 90;
  Run(1, kA, GibiBytes(1), std::nullopt).kind = device::ProcessKind::kMps;
  EXPECT_THAT(Measured(), ElementsAre(Pair(kA, Is(0.5, 0, 1, 0.5)), Pair(kB, Is(0.5, 0, 0))));
}

TEST_F(MeterTest, WhoIsIdleOnASharedGpuIsReportedOnlyWhereProcessesHaveOwners) {
  ShareAmong(2);
  Give(std::string(kMeteredGpu) + "::0", kA);
  Give(std::string(kMeteredGpu) + "::1", kB);
  pods_.problem = "the container runtime does not answer";
  Run(1, kA, GibiBytes(1), 50);
  EXPECT_THAT(Measured(), ElementsAre(Pair(kA, Is(0.5, 0.5, 1)), Pair(kB, Is(0.5, 0, 0, 0.5))));
}

TEST_F(MeterTest, TwoContainersOfAPodWithOneDeviceAreCountedOnce) {
  Give(kMeteredGpu, kA, "sidecar");
  Give(kMeteredGpu, kA, "main");
  EXPECT_THAT(Measured(), ElementsAre(Pair(kA, Is(1, 0, 0, 1))));
}

TEST_F(MeterTest, AMigDeviceCountsByItsComputeSlices) {
  AddMig().profiling.graphics_active = 0.5;
  Give(kMig, kA);
  Run(1, kA, GibiBytes(4), std::nullopt).gpu_instance = 2;
  EXPECT_THAT(Measured(), ElementsAre(Pair(kA, Is(2.0 / 7, 1.0 / 7, 4))));
}

TEST_F(MeterTest, AMigDeviceWithoutMonitorsIsUnreportedNotIdle) {
  AddMig();
  Give(kMig, kA);
  EXPECT_THAT(Measured(), ElementsAre(Pair(kA, Is(2.0 / 7, 0, 0, 2.0 / 7))));
}

TEST_F(MeterTest, ASharedMigDeviceIsUnreported) {
  AddMig().profiling.graphics_active = 0.5;
  Give(std::string(kMig) + "::0", kA);
  Give(std::string(kMig) + "::1", kB);
  EXPECT_THAT(Measured(), ElementsAre(Pair(kA, Is(2.0 / 7, 0, 0, 2.0 / 7)),
                                      Pair(kB, Is(2.0 / 7, 0, 0, 2.0 / 7))));
}

TEST_F(MeterTest, AProcessInTwoListsHasItsMemoryOnce) {
  Give(kMeteredGpu, kA);
  Run(1, kA, GibiBytes(2), 30);
  Run(1, kA, GibiBytes(2), 30).kind = device::ProcessKind::kGraphics;
  EXPECT_THAT(Measured(), ElementsAre(Pair(kA, Is(1, 0, 2, 1))));
}

TEST_F(MeterTest, MemoryThatIsNotReportedByProcessIsThatOfTheGpu) {
  Give(kMeteredGpu, kA);
  sample().memory =
      device::MemoryUse{.total = GibiBytes(80), .reserved = {}, .used = GibiBytes(5), .free = {}};
  EXPECT_THAT(Measured(), ElementsAre(Pair(kA, Is(1, 0, 0, 1))));
  Run(1, kA, std::nullopt, std::nullopt);
  EXPECT_THAT(Measured(), ElementsAre(Pair(kA, Is(1, 0, 5, 1))));
}

TEST_F(MeterTest, AGpuThatIsGoneIsStillHandedOut) {
  snapshot_.gpus.clear();
  samples_.gpus.clear();
  Give(kMeteredGpu, kA);
  EXPECT_THAT(Measured(), ElementsAre(Pair(kA, Is(1, 0, 0, 1))));
}

TEST_F(MeterTest, NobodyHasNothing) {
  Run(1, std::nullopt, GibiBytes(2), 30);
  EXPECT_THAT(Measured(), IsEmpty());
}

}  // namespace
}  // namespace kgpu::usage
