#include "src/node/config/selector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/node/config/selector_text.h"

namespace kgpu::config {
namespace {

device::Gpu TestGpu() {
  device::Gpu gpu;
  gpu.uuid = *device::GpuUuid::Parse("GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a01");
  gpu.index = 3;
  gpu.pci.bus = 7;
  gpu.model = "A100-SXM4-80GB";
  gpu.memory = GibiBytes(80);
  gpu.compute = device::ComputeCapability{.major = 8, .minor = 0};
  gpu.numa_node = 1;
  return gpu;
}

device::MigDevice TestMig() {
  device::MigDevice mig;
  mig.uuid = *device::MigUuid::Parse("MIG-7c1d4bd0-85a5-5d5a-b9c5-d4ee4f2b0001");
  mig.profile = "1g.10gb";
  mig.memory = MebiBytes(9856);
  return mig;
}

TEST(SelectorTest, WithoutFieldsItMeansEverything) {
  EXPECT_TRUE(Matches({}, TestGpu()));
  EXPECT_TRUE(Matches({}, TestGpu(), TestMig()));
  EXPECT_FALSE(NamesMigDevice({}, TestGpu(), TestMig()));
  EXPECT_EQ(ToString(Selector()), "all");
}

TEST(SelectorTest, AlternativesAreOrFieldsAreAnd) {
  const Selector selector{.models = {"H100-*", "A100-*"}, .indices = {2, 3}};
  EXPECT_TRUE(Matches(selector, TestGpu()));
  device::Gpu other = TestGpu();
  other.index = 4;
  EXPECT_FALSE(Matches(selector, other));
  other = TestGpu();
  other.model = "T4";
  EXPECT_FALSE(Matches(selector, other));
}

TEST(SelectorTest, TheDriversNameIsAModelToo) {
  device::Gpu gpu = TestGpu();
  gpu.name = "NVIDIA H100 80GB HBM3";
  gpu.model = "H100-SXM5-80GB";
  EXPECT_TRUE(Matches({.models = {"H100-80GB-HBM3"}}, gpu));
  EXPECT_TRUE(Matches({.models = {"H100-SXM5-80GB"}}, gpu));
  EXPECT_FALSE(Matches({.models = {"H100-PCIE-80GB"}}, gpu));
}

TEST(SelectorTest, BoundsHoldAllTogether) {
  Selector selector{.memory = {*ParseMemoryBound(">= 40Gi"), *ParseMemoryBound("< 90Gi")},
                    .compute = {*ParseComputeBound(">= 8.0")}};
  EXPECT_TRUE(Matches(selector, TestGpu()));
  selector.memory.push_back(*ParseMemoryBound("< 80Gi"));
  EXPECT_FALSE(Matches(selector, TestGpu()));
  EXPECT_FALSE(Matches({.compute = {*ParseComputeBound("> 8.0")}}, TestGpu()));
}

TEST(SelectorTest, WhatTheDriverDoesNotTellMatchesNoBound) {
  device::Gpu gpu = TestGpu();
  gpu.memory.reset();
  gpu.compute.reset();
  gpu.numa_node.reset();
  EXPECT_FALSE(Matches({.memory = {*ParseMemoryBound("< 90Gi")}}, gpu));
  EXPECT_FALSE(Matches({.compute = {*ParseComputeBound("< 90")}}, gpu));
  EXPECT_FALSE(Matches({.numa_nodes = {0, 1}}, gpu));
  EXPECT_TRUE(Matches({}, gpu));
}

TEST(SelectorTest, APrefixOfAUuidIsEnough) {
  EXPECT_TRUE(Matches({.uuids = {"GPU-5d5ba0d6"}}, TestGpu()));
  EXPECT_FALSE(Matches({.uuids = {"GPU-5d5ba0d7"}}, TestGpu()));
  EXPECT_FALSE(Matches({.uuids = {"MIG-7c1d4bd0"}}, TestGpu()));
}

TEST(SelectorTest, OneOfPciAddressesAndNumaNodesMatches) {
  EXPECT_TRUE(Matches({.pci = {*ParsePci("08:00.0"), *ParsePci("07:00.0")}}, TestGpu()));
  EXPECT_FALSE(Matches({.pci = {*ParsePci("08:00.0")}}, TestGpu()));
  EXPECT_TRUE(Matches({.numa_nodes = {0, 1}}, TestGpu()));
  EXPECT_FALSE(Matches({.numa_nodes = {0}}, TestGpu()));
}

TEST(SelectorTest, MigProfilesMeanMigDevicesOnly) {
  const Selector selector{.mig_profiles = {"2g.20gb", "1g.*"}};
  EXPECT_FALSE(Matches(selector, TestGpu()));
  EXPECT_TRUE(Matches(selector, TestGpu(), TestMig()));
  EXPECT_TRUE(NamesMigDevice(selector, TestGpu(), TestMig()));
  EXPECT_FALSE(Matches({.mig_profiles = {"2g.20gb"}}, TestGpu(), TestMig()));
}

TEST(SelectorTest, AMigDeviceHasItsOwnMemoryAndItsParentsRest) {
  EXPECT_TRUE(Matches({.models = {"A100-*"}, .indices = {3}}, TestGpu(), TestMig()));
  EXPECT_FALSE(Matches({.memory = {*ParseMemoryBound(">= 40Gi")}}, TestGpu(), TestMig()));
  EXPECT_TRUE(Matches({.memory = {*ParseMemoryBound("< 10Gi")}}, TestGpu(), TestMig()));
}

TEST(SelectorTest, AMigDeviceIsNamedByItsOwnUuidNotItsParents) {
  const Selector own{.uuids = {"MIG-7c1d4bd0"}};
  const Selector parents{.uuids = {"GPU-5d5ba0d6"}};
  EXPECT_TRUE(NamesMigDevice(own, TestGpu(), TestMig()));
  EXPECT_TRUE(Matches(parents, TestGpu(), TestMig()));
  EXPECT_FALSE(NamesMigDevice(parents, TestGpu(), TestMig()));
}

TEST(SelectorTest, AnOldMigNameIsNoPrefix) {
  device::MigDevice mig = TestMig();
  mig.uuid = *device::MigUuid::Parse("MIG-GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a01/1/10");
  const Selector other{.uuids = {"MIG-GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a01/1/1"}};
  EXPECT_FALSE(NamesMigDevice(other, TestGpu(), mig));
  EXPECT_TRUE(NamesMigDevice({.uuids = {mig.uuid.str()}}, TestGpu(), mig));
}

TEST(SelectorTest, IsReportedInOneLine) {
  const Selector selector{.models = {"A100-SXM4-80GB", "A100-PCIE-80GB"},
                          .indices = {0, 1, 2, 5},
                          .pci = {*ParsePci("07:00.0")},
                          .memory = {*ParseMemoryBound(">= 40Gi")},
                          .compute = {*ParseComputeBound("= 8.0")}};
  EXPECT_EQ(ToString(selector),
            "model=A100-SXM4-80GB,A100-PCIE-80GB index=0-2,5 pci=0000:07:00.0 memory>=40Gi "
            "compute=8.0");
}

}  // namespace
}  // namespace kgpu::config
