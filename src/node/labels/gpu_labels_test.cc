#include "src/node/labels/gpu_labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>

#include "src/node/labels/gpu_names.h"
#include "src/node/labels/model_affinity.h"
#include "src/node/pools/test_node.h"

namespace kgpu::labels {
namespace {

using pools::AddTestMig;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;

void Name(device::Gpu& gpu, const std::string& name, const std::string& model) {
  gpu.name = name;
  gpu.model = model;
}

device::Snapshot A100s(unsigned count) {
  device::Snapshot snapshot = pools::TestNode(count);
  snapshot.driver.version = "535.104.05";
  snapshot.driver.cuda_major = 12;
  snapshot.driver.cuda_minor = 2;
  for (device::Gpu& gpu : snapshot.gpus) {
    Name(gpu, "NVIDIA A100-SXM4-80GB", "A100-SXM4-80GB");
    gpu.compute = device::ComputeCapability{.major = 8, .minor = 0};
    gpu.pci_class = 0x0302;
  }
  return snapshot;
}

// The last `count` of them are T4s.
void ReplaceByT4s(device::Snapshot& snapshot, unsigned count) {
  for (size_t i = snapshot.gpus.size() - count; i < snapshot.gpus.size(); ++i) {
    device::Gpu& gpu = snapshot.gpus[i];
    Name(gpu, "Tesla T4", "T4");
    gpu.memory = GibiBytes(15);
    gpu.compute = device::ComputeCapability{.major = 7, .minor = 5};
    gpu.mig_mode.reset();
  }
}

std::map<std::string, std::string> LabelsOf(const device::Snapshot& snapshot,
                                            std::string_view config = "") {
  return GpuClaims(snapshot, pools::TestConfig(config), {}).labels;
}

TEST(GpuLabelsTest, ANodeWithoutGpusHasNone) {
  EXPECT_EQ(GpuClaims({}, config::DefaultNodeConfig(), {}), NodeClaims());
}

TEST(GpuLabelsTest, GpusWithoutADriverAreSaidToBePresent) {
  device::Snapshot snapshot;
  snapshot.unmanaged.emplace_back();
  EXPECT_THAT(LabelsOf(snapshot), AllOf(SizeIs(2), Contains(Pair("nvidia.com/gpu.present", "true")),
                                        Contains(Pair("nvidia.com/gpu.machine", "unknown"))));
}

TEST(GpuLabelsTest, TellsVersions) {
  const auto labels = LabelsOf(A100s(1));
  for (const auto& [name, value] :
       std::map<std::string, std::string>{{"cuda.driver-version.full", "535.104.05"},
                                          {"cuda.driver-version.major", "535"},
                                          {"cuda.driver-version.minor", "104"},
                                          {"cuda.driver-version.revision", "05"},
                                          {"cuda.driver.major", "535"},
                                          {"cuda.driver.minor", "104"},
                                          {"cuda.driver.rev", "05"},
                                          {"cuda.runtime-version.full", "12.2"},
                                          {"cuda.runtime-version.major", "12"},
                                          {"cuda.runtime-version.minor", "2"},
                                          {"cuda.runtime.major", "12"},
                                          {"cuda.runtime.minor", "2"}}) {
    EXPECT_THAT(labels, Contains(Pair("nvidia.com/" + name, value)));
  }
}

TEST(GpuLabelsTest, TellsTheProduct) {
  const auto labels = LabelsOf(A100s(8));
  for (const auto& [name, value] :
       std::map<std::string, std::string>{{"gpu.product", "NVIDIA-A100-SXM4-80GB"},
                                          {"gpu.count", "8"},
                                          {"gpu.memory", "81920"},
                                          {"gpu.family", "ampere"},
                                          {"gpu.compute.major", "8"},
                                          {"gpu.compute.minor", "0"},
                                          {"gpu.replicas", "1"},
                                          {"gpu.sharing-strategy", "none"},
                                          {"gpu.mode", "compute"},
                                          {"mig.capable", "true"},
                                          {"mps.capable", "false"},
                                          {"vgpu.present", "false"}}) {
    EXPECT_THAT(labels, Contains(Pair("nvidia.com/" + name, value)));
  }
  EXPECT_THAT(labels, Not(Contains(Key("nvidia.com/mig.strategy"))));
  EXPECT_THAT(labels, Not(Contains(Key("nvidia.com/gpu.clique"))));
}

TEST(GpuLabelsTest, TimeSlicesShowInProductAndReplicas) {
  const auto labels =
      LabelsOf(A100s(2), "pools: [{resource: nvidia.com/gpu, share: {by: time, replicas: 4}}]");
  EXPECT_THAT(labels, Contains(Pair("nvidia.com/gpu.product", "NVIDIA-A100-SXM4-80GB-SHARED")));
  EXPECT_THAT(labels, Contains(Pair("nvidia.com/gpu.replicas", "4")));
  EXPECT_THAT(labels, Contains(Pair("nvidia.com/gpu.sharing-strategy", "time-slicing")));
  EXPECT_THAT(labels, Contains(Pair("nvidia.com/gpu.count", "2")));
}

TEST(GpuLabelsTest, MpsShowsAsWithNvidiasPlugin) {
  auto labels =
      LabelsOf(A100s(2), "pools: [{resource: nvidia.com/gpu, share: {by: mps, replicas: 4}}]");
  EXPECT_THAT(labels, Contains(Pair("nvidia.com/gpu.product", "NVIDIA-A100-SXM4-80GB-SHARED")));
  EXPECT_THAT(labels, Contains(Pair("nvidia.com/gpu.replicas", "4")));
  EXPECT_THAT(labels, Contains(Pair("nvidia.com/gpu.sharing-strategy", "mps")));
  EXPECT_THAT(labels, Contains(Pair("nvidia.com/mps.capable", "true")));
  labels = LabelsOf(A100s(2),
                    "pools: [{resource: nvidia.com/gpu.shared, share: {by: mps, replicas: 4}}]");
  EXPECT_THAT(labels, Contains(Pair("nvidia.com/gpu.product", "NVIDIA-A100-SXM4-80GB")));
  EXPECT_THAT(labels, Contains(Pair("nvidia.com/gpu.sharing-strategy", "mps")));
}

TEST(GpuLabelsTest, ARenamedShareLeavesTheProductAlone) {
  const auto labels = LabelsOf(
      A100s(2), "pools: [{resource: nvidia.com/gpu.shared, share: {by: time, replicas: 4}}]");
  EXPECT_THAT(labels, Contains(Pair("nvidia.com/gpu.product", "NVIDIA-A100-SXM4-80GB")));
  EXPECT_THAT(labels, Contains(Pair("nvidia.com/gpu.replicas", "4")));
}

TEST(GpuLabelsTest, TheModelWithMostCardsLeads) {
  device::Snapshot snapshot = A100s(6);
  ReplaceByT4s(snapshot, 4);
  const auto labels = LabelsOf(snapshot);
  EXPECT_THAT(labels, Contains(Pair("nvidia.com/gpu.product", "Tesla-T4")));
  EXPECT_THAT(labels, Contains(Pair("nvidia.com/gpu.count", "4")));
  EXPECT_THAT(labels, Contains(Pair("nvidia.com/gpu.memory", "15360")));
  EXPECT_THAT(labels, Contains(Pair("nvidia.com/gpu.family", "turing")));
}

TEST(GpuLabelsTest, OfEquallyManyTheLargerLeadsWhateverTheOrder) {
  device::Snapshot snapshot = A100s(4);
  ReplaceByT4s(snapshot, 2);
  const auto labels = LabelsOf(snapshot);
  EXPECT_THAT(labels, Contains(Pair("nvidia.com/gpu.product", "NVIDIA-A100-SXM4-80GB")));
  std::ranges::reverse(snapshot.gpus);
  EXPECT_EQ(LabelsOf(snapshot), labels);
}

// NVIDIA/gpu-feature-discovery#66: three models, one of each.
TEST(GpuLabelsTest, OfThreeModelsTheLargestIsDescribedAndEachCounted) {
  device::Snapshot snapshot = A100s(3);
  constexpr std::array<std::pair<const char*, unsigned>, 3> kCards = {
      {{"3080", 10}, {"3090", 24}, {"4090", 23}}};
  for (size_t i = 0; i < kCards.size(); ++i) {
    Name(snapshot.gpus[i], fmt::format("NVIDIA GeForce RTX {}", kCards[i].first),
         fmt::format("GeForce-RTX-{}", kCards[i].first));
    snapshot.gpus[i].memory = GibiBytes(kCards[i].second);
    snapshot.gpus[i].mig_mode.reset();
  }
  const auto labels = LabelsOf(snapshot);
  EXPECT_THAT(labels, Contains(Pair("nvidia.com/gpu.product", "NVIDIA-GeForce-RTX-3090")));
  EXPECT_THAT(labels, Contains(Pair("nvidia.com/gpu.memory", "24576")));
  for (const auto& [model, memory] : kCards) {
    EXPECT_THAT(labels, Contains(Pair(
                            fmt::format("{}GeForce-RTX-{}.count", kModelLabelPrefix, model), "1")));
  }
  std::ranges::reverse(snapshot.gpus);
  EXPECT_EQ(LabelsOf(snapshot), labels) << "whatever the order";
}

// NVIDIA/k8s-device-plugin#1482: unified memory, for which the driver reports none.
TEST(GpuLabelsTest, AGpuWithoutMemoryHasNoMemoryLabel) {
  device::Snapshot snapshot = A100s(1);
  Name(snapshot.gpus[0], "NVIDIA GB10", "GB10");
  snapshot.gpus[0].memory.reset();
  const auto labels = LabelsOf(snapshot);
  EXPECT_THAT(labels, Contains(Pair("nvidia.com/gpu.product", "NVIDIA-GB10")));
  EXPECT_THAT(labels, Contains(Pair("nvidia.com/gpu.count", "1")));
  EXPECT_THAT(labels, Contains(Pair(std::string(kModelLabelPrefix) + "GB10.count", "1")));
  EXPECT_THAT(labels, Not(Contains(Key("nvidia.com/gpu.memory"))));
  EXPECT_THAT(labels, Not(Contains(Key(std::string(kModelLabelPrefix) + "GB10.memory"))));
}

TEST(GpuLabelsTest, EachModelHasLabelsOfItsOwn) {
  device::Snapshot snapshot = A100s(5);
  ReplaceByT4s(snapshot, 2);
  const auto labels = LabelsOf(snapshot);
  for (const auto& [name, value] :
       std::map<std::string, std::string>{{"A100-SXM4-80GB.count", "3"},
                                          {"A100-SXM4-80GB.memory", "81920"},
                                          {"A100-SXM4-80GB.compute", "8.0"},
                                          {"A100-SXM4-80GB.family", "ampere"},
                                          {"T4.count", "2"},
                                          {"T4.memory", "15360"},
                                          {"T4.compute", "7.5"},
                                          {"T4.family", "turing"}}) {
    EXPECT_THAT(labels, Contains(Pair(kModelLabelPrefix + name, value)));
  }
}

TEST(GpuLabelsTest, ModesThatDifferAreUnknown) {
  device::Snapshot snapshot = A100s(2);
  snapshot.gpus[0].pci_class = 0x0300;
  EXPECT_THAT(LabelsOf(snapshot), Contains(Pair("nvidia.com/gpu.mode", "unknown")));
  snapshot.gpus[1].pci_class = 0x0300;
  EXPECT_THAT(LabelsOf(snapshot), Contains(Pair("nvidia.com/gpu.mode", "graphics")));
}

TEST(GpuLabelsTest, TellsTheCliqueThatAllAreIn) {
  device::Snapshot snapshot = A100s(3);
  device::FabricId fabric{.cluster_uuid = "6b67-1", .clique_id = 7};
  snapshot.gpus[0].fabric = fabric;
  snapshot.gpus[1].fabric = fabric;
  EXPECT_THAT(LabelsOf(snapshot), Contains(Pair("nvidia.com/gpu.clique", "6b67-1.7")));
  fabric.clique_id = 8;
  snapshot.gpus[1].fabric = fabric;
  EXPECT_THAT(LabelsOf(snapshot), Not(Contains(Key("nvidia.com/gpu.clique"))));
}

TEST(GpuLabelsTest, TellsTheHypervisorsDriver) {
  const auto labels =
      GpuClaims(
          A100s(1), config::DefaultNodeConfig(),
          {.machine = " Standard PC (Q35 + ICH9, 2009)\n",
           .vgpu = host::VgpuHost{.driver_version = "535.104.06", .driver_branch = "r535_00"}})
          .labels;
  EXPECT_THAT(labels, Contains(Pair("nvidia.com/gpu.machine", "Standard-PC-Q35-ICH9-2009")));
  EXPECT_THAT(labels, Contains(Pair("nvidia.com/vgpu.present", "true")));
  EXPECT_THAT(labels, Contains(Pair("nvidia.com/vgpu.host-driver-version", "535.104.06")));
  EXPECT_THAT(labels, Contains(Pair("nvidia.com/vgpu.host-driver-branch", "r535_00")));
}

TEST(GpuLabelsTest, ListsTheCards) {
  device::Snapshot snapshot = A100s(2);
  snapshot.gpus[0].is_ecc_enabled = true;
  AddTestMig(snapshot, 1, {"1g.10gb"});
  const NodeClaims claims = GpuClaims(snapshot, config::DefaultNodeConfig(), {});
  EXPECT_EQ(claims.annotations.at(kGpusAnnotation),
            R"([{"uuid":"GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b0000","pci":"0000:00:00.0",)"
            R"("model":"A100-SXM4-80GB","numa":0,"ecc":true,"nvlinkDomain":0},)"
            R"({"uuid":"GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b0001","pci":"0000:01:00.0",)"
            R"("model":"A100-SXM4-80GB","numa":1,"nvlinkDomain":1,"mig":[{"uuid":)"
            R"("MIG-7c1d4bd0-85a5-5d5a-b9c5-d4ee00010000","profile":"1g.10gb"}]}])");
}

TEST(GpuLabelsTest, HealthIsInNoLabel) {
  device::Snapshot snapshot = A100s(2);
  const NodeClaims before = GpuClaims(snapshot, config::DefaultNodeConfig(), {});
  snapshot.gpus[0].health = {.is_healthy = false, .reason = "Xid79", .message = "lost"};
  EXPECT_EQ(GpuClaims(snapshot, config::DefaultNodeConfig(), {}), before);
}

// MIG

void FillMig(device::Snapshot& snapshot) {
  for (device::Gpu& gpu : snapshot.gpus) {
    for (device::MigDevice& mig : gpu.mig_devices) {
      mig.memory = MebiBytes(9856);
      mig.multiprocessors = 14;
      mig.gpu_instance_slices = 1;
      mig.compute_instance_slices = 1;
      mig.engines = {.copy = 1, .decoder = 2, .encoder = 0, .jpeg = 3, .ofa = 4};
    }
  }
}

TEST(MigLabelsTest, StrategyNoneLooksAtWholeGpus) {
  device::Snapshot snapshot = A100s(2);
  AddTestMig(snapshot, 0, {"1g.10gb"});
  const auto labels = LabelsOf(snapshot);
  EXPECT_THAT(labels, Contains(Pair("nvidia.com/gpu.count", "2")));
  EXPECT_THAT(labels, Contains(Pair("nvidia.com/gpu.replicas", "1")));
}

TEST(MigLabelsTest, NoReplicasWhereAllCardsAreInMigMode) {
  device::Snapshot snapshot = A100s(1);
  AddTestMig(snapshot, 0, {"1g.10gb"});
  EXPECT_THAT(LabelsOf(snapshot), Contains(Pair("nvidia.com/gpu.replicas", "0")));
}

TEST(MigLabelsTest, StrategySingleTellsOfTheProfile) {
  device::Snapshot snapshot = A100s(2);
  AddTestMig(snapshot, 0, {"1g.10gb", "1g.10gb"});
  AddTestMig(snapshot, 1, {"1g.10gb"});
  FillMig(snapshot);
  const auto labels = LabelsOf(snapshot, "migStrategy: single");
  for (const auto& [name, value] :
       std::map<std::string, std::string>{{"mig.strategy", "single"},
                                          {"gpu.product", "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb"},
                                          {"gpu.count", "3"},
                                          {"gpu.replicas", "1"},
                                          {"gpu.sharing-strategy", "none"},
                                          {"gpu.memory", "9856"},
                                          {"gpu.multiprocessors", "14"},
                                          {"gpu.slices.gi", "1"},
                                          {"gpu.slices.ci", "1"},
                                          {"gpu.engines.copy", "1"},
                                          {"gpu.engines.decoder", "2"},
                                          {"gpu.engines.encoder", "0"},
                                          {"gpu.engines.jpeg", "3"},
                                          {"gpu.engines.ofa", "4"},
                                          {"gpu.family", "ampere"}}) {
    EXPECT_THAT(labels, Contains(Pair("nvidia.com/" + name, value)));
  }
}

TEST(MigLabelsTest, StrategySingleNeedsAllAlike) {
  device::Snapshot one_without = A100s(2);
  AddTestMig(one_without, 0, {"1g.10gb"});
  device::Snapshot empty = one_without;
  AddTestMig(empty, 1, {});
  device::Snapshot two_profiles = one_without;
  AddTestMig(two_profiles, 1, {"2g.20gb"});
  for (const device::Snapshot& snapshot : {one_without, empty, two_profiles}) {
    const auto labels = LabelsOf(snapshot, "migStrategy: single");
    EXPECT_THAT(labels,
                Contains(Pair("nvidia.com/gpu.product", "NVIDIA-A100-SXM4-80GB-MIG-INVALID")));
    EXPECT_THAT(labels, Contains(Pair("nvidia.com/gpu.count", "0")));
    EXPECT_THAT(labels, Contains(Pair("nvidia.com/gpu.replicas", "0")));
    EXPECT_THAT(labels, Contains(Pair("nvidia.com/gpu.sharing-strategy", "")));
    EXPECT_THAT(labels, Contains(Pair("nvidia.com/gpu.memory", "0")));
  }
}

TEST(MigLabelsTest, StrategySingleWithoutMigIsAsNone) {
  const auto labels = LabelsOf(A100s(2), "migStrategy: single");
  EXPECT_THAT(labels, Contains(Pair("nvidia.com/gpu.product", "NVIDIA-A100-SXM4-80GB")));
  EXPECT_THAT(labels, Contains(Pair("nvidia.com/mig.strategy", "single")));
}

TEST(MigLabelsTest, StrategyMixedTellsOfEachProfile) {
  device::Snapshot snapshot = A100s(2);
  AddTestMig(snapshot, 1, {"1g.10gb", "1g.10gb", "1g.10gb+me"});
  FillMig(snapshot);
  const auto labels = LabelsOf(snapshot, "migStrategy: mixed");
  for (const auto& [name, value] : std::map<std::string, std::string>{
           {"mig.strategy", "mixed"},
           {"gpu.count", "2"},
           {"mig-1g.10gb.count", "2"},
           {"mig-1g.10gb.product", "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb"},
           {"mig-1g.10gb.replicas", "1"},
           {"mig-1g.10gb.engines.ofa", "4"},
           {"mig-1g.10gb.me.count", "1"},
           {"mig-1g.10gb.me.product", "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb.me"}}) {
    EXPECT_THAT(labels, Contains(Pair("nvidia.com/" + name, value)));
  }
}

TEST(GpuNamesTest, ValuesAreWhatALabelMayHold) {
  EXPECT_EQ(SanitizedValue("NVIDIA A100-SXM4-80GB"), "NVIDIA-A100-SXM4-80GB");
  EXPECT_EQ(SanitizedValue("  a  (b)\tc\n"), "a-b-c");
  EXPECT_EQ(SanitizedValue("-_.x._-"), "x");
  EXPECT_EQ(SanitizedValue("( )"), "");
  EXPECT_THAT(SanitizedValue(std::string(100, 'x')), SizeIs(63));
  EXPECT_EQ(SanitizedValue(std::string(62, 'x') + "-y"), std::string(62, 'x'));
}

TEST(GpuNamesTest, FamiliesFollowTheComputeCapability) {
  const auto family = [](int major, int minor) {
    return GpuFamily({.major = major, .minor = minor});
  };
  EXPECT_EQ(family(3, 7), "kepler");
  EXPECT_EQ(family(5, 0), "maxwell");
  EXPECT_EQ(family(7, 0), "volta");
  EXPECT_EQ(family(7, 5), "turing");
  EXPECT_EQ(family(8, 6), "ampere");
  EXPECT_EQ(family(8, 9), "ada-lovelace");
  EXPECT_EQ(family(9, 0), "hopper");
  EXPECT_EQ(family(10, 0), "blackwell");
  EXPECT_EQ(family(12, 0), "blackwell");
  EXPECT_EQ(family(13, 0), "rubin");
  EXPECT_EQ(family(99, 0), "undefined");
}

}  // namespace
}  // namespace kgpu::labels
