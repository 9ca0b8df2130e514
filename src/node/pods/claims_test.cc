#include "src/node/pods/claims.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

namespace kgpu::pods {
namespace {

using ::testing::ElementsAre;

constexpr char kClaimedGpu[] = "GPU-00000000-0000-0000-0000-00000000000A";
constexpr char kClaimedMig[] = "MIG-00000000-0000-0000-0000-0000000000a1";
constexpr char kOtherMig[] = "MIG-00000000-0000-0000-0000-0000000000a2";

device::MigDevice Mig(const char* uuid, const char* profile, unsigned start) {
  device::MigDevice mig;
  mig.uuid = device::MigUuid::Parse(uuid).value();
  mig.profile = profile;
  mig.placement_start = start;
  return mig;
}

// One GPU, /dev/nvidia2, with two MIG devices.
device::Snapshot OneGpu() {
  device::Snapshot snapshot;
  device::Gpu& gpu = snapshot.gpus.emplace_back();
  gpu.uuid = device::GpuUuid::Parse(kClaimedGpu).value();
  gpu.minor = 2;
  gpu.mig_devices = {Mig(kClaimedMig, "1g.10gb", 4), Mig(kOtherMig, "1g.10gb+me", 6)};
  return snapshot;
}

std::string Find(const char* driver, const char* device, const char* cdi_uuid = "") {
  return DeviceOfClaim({.claim_namespace = "ml",
                        .claim = "c",
                        .driver = driver,
                        .pool = "node",
                        .device = device,
                        .cdi_uuid = cdi_uuid},
                       OneGpu());
}

TEST(ClaimsTest, NvidiasNamesAreThoseOfMinorsAndPlacements) {
  EXPECT_EQ(Find("gpu.nvidia.com", "gpu-2"), device::GpuUuid::Parse(kClaimedGpu).value().str());
  EXPECT_EQ(Find("gpu.nvidia.com", "gpu-2-mig-1g10gb-19-4"), kClaimedMig);
  EXPECT_EQ(Find("gpu.nvidia.com", "gpu-2-mig-1g10gb-me-20-6"), kOtherMig);
}

TEST(ClaimsTest, WhatIsNoDeviceOfTheHostIsNobodys) {
  for (const char* name :
       {"gpu-0", "gpu-", "gpu-2x", "gpu-vfio-2", "gpu-2-mig-", "gpu-2-mig-1g10gb-19-5",
        "gpu-2-mig-1g10gb-19", "gpu-2-mig-2g20gb-14-4", "gpu-3-mig-1g10gb-19-4", "channel-2", ""}) {
    EXPECT_EQ(Find("gpu.nvidia.com", name), "") << name;
  }
}

TEST(ClaimsTest, OtherDriversNamesCountOnlyAsUuids) {
  EXPECT_EQ(Find("gpu.example.com", "gpu-2"), "");
  EXPECT_EQ(Find("gpu.example.com", "gpu-00000000-0000-0000-0000-00000000000a"),
            device::GpuUuid::Parse(kClaimedGpu).value().str());
  EXPECT_EQ(Find("gpu.example.com", "x", kClaimedMig), kClaimedMig);
  EXPECT_EQ(Find("gpu.example.com", "x", "MIG-1"), "");
}

TEST(ClaimsTest, NamesOfSharesEndWithTheirSize) {
  EXPECT_EQ(Find("gpu.nvidia.com", "gpu-2-20gi"),
            device::GpuUuid::Parse(kClaimedGpu).value().str());
  EXPECT_EQ(Find("gpu.nvidia.com", "gpu-2-mig-1g10gb-19-4-5gi"), kClaimedMig);
}

TEST(ClaimsTest, AClaimThatIsOursHasItsSlots) {
  const Container user{.pod_namespace = "ml", .pod = "p", .container = "c"};
  const ClaimedDevice share{.driver = "gpu.nvidia.com", .device = "gpu-2-20gi"};
  const auto uses = WithClaims({{.resource = share.driver, .user = user, .claim = share}},
                               device::Snapshot(), [](const ClaimedDevice& claim) {
                                 return claim.device == "gpu-2-20gi"
                                            ? std::vector<std::string>{"GPU-1::0", "GPU-1::3"}
                                            : std::vector<std::string>();
                               });
  ASSERT_EQ(uses.size(), 2U);
  EXPECT_EQ(uses[0].device_id, "GPU-1::0");
  EXPECT_EQ(uses[1].device_id, "GPU-1::3");
  EXPECT_TRUE(uses[1].is_claimed());
}

TEST(ClaimsTest, ListsClaimedDevicesBesideThoseOfPlugins) {
  const Container user{.pod_namespace = "ml", .pod = "a", .container = "main"};
  const ClaimedDevice mig{.driver = "gpu.nvidia.com", .device = "gpu-2-mig-1g10gb-19-4"};
  const ClaimedDevice nic{.driver = "nic.example.com", .device = "eth1"};
  const auto uses = WithClaims({{.resource = "nvidia.com/gpu", .device_id = "GPU-1", .user = user},
                                {.resource = mig.driver, .user = user, .claim = mig},
                                {.resource = nic.driver, .user = user, .claim = nic}},
                               OneGpu());
  EXPECT_THAT(
      uses,
      ElementsAre(
          DeviceUse{.resource = mig.driver, .device_id = kClaimedMig, .user = user, .claim = mig},
          DeviceUse{.resource = "nvidia.com/gpu", .device_id = "GPU-1", .user = user}));
}

}  // namespace
}  // namespace kgpu::pods
