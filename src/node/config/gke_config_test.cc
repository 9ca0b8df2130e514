#include "src/node/config/gke_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/node/sharing/mps/mps.h"
#include "src/node/sharing/time/time.h"
#include "testing/status_matchers.h"

namespace kgpu::config {
namespace {

using sharing::MultipleSlots;
using sharing::Share;

using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(GkeConfigTest, PartitionsAreMigDevicesCalledGpu) {
  const auto converted = ConvertGkeConfig(
      R"({"GPUPartitionSize": "1g.5gb", "HealthCriticalXid": [79],
 "GPUSharingConfig": {"GPUSharingStrategy": "time-sharing", "MaxSharedClientsPerGPU": 3}})",
      "gpu_config.json");
  ASSERT_OK(converted);
  NodeConfig wanted = DefaultNodeConfig();
  wanted.mig = MigStrategy::kSingle;
  wanted.pools.front().devices.mig_profiles = {"1g.5gb"};
  wanted.pools.front().share = {
      .by = &sharing::kTime, .replicas = 3, .multiple = MultipleSlots::kRefuse};
  wanted.health.rules["Xid*"] = {.is_unhealthy = false};
  wanted.health.rules["Xid48"] = {.is_unhealthy = true};
  wanted.health.rules["Xid79"] = {.is_unhealthy = true};
  EXPECT_EQ(converted->config, wanted);
  ASSERT_THAT(converted->notes, SizeIs(4));
  EXPECT_THAT(converted->notes[0].text,
              HasSubstr("gpu_config.json:1:2: GPUPartitionSize: converted: "));
  EXPECT_EQ(converted->notes[1].fate, Fate::kTranslated);
  EXPECT_THAT(converted->notes[3].text,
              HasSubstr("GPUSharingConfig.MaxSharedClientsPerGPU: converted: share.replicas: 3"));
}

TEST(GkeConfigTest, TheOldKeyWins) {
  const auto converted = ConvertGkeConfig(
      R"({"MaxTimeSharedClientsPerGPU": 2, "GPUSharingConfig": {"MaxSharedClientsPerGPU": 8}})",
      "c.json");
  ASSERT_OK(converted);
  EXPECT_EQ(converted->config.pools.front().share.replicas, 2U);
}

TEST(GkeConfigTest, OneClientIsNoSharing) {
  const auto converted =
      ConvertGkeConfig(R"({"GPUSharingConfig": {"MaxSharedClientsPerGPU": 1}})", "c.json");
  ASSERT_OK(converted);
  EXPECT_EQ(converted->config, DefaultNodeConfig());
}

TEST(GkeConfigTest, UnknownKeysAreNotes) {
  const auto converted = ConvertGkeConfig(R"({"GPUPartitionSizes": "1g.5gb"})", "c.json");
  ASSERT_OK(converted);
  ASSERT_THAT(converted->notes, SizeIs(1));
  EXPECT_EQ(converted->notes[0].fate, Fate::kUnknown);
  EXPECT_THAT(converted->notes[0].text, HasSubstr("did you mean \"GPUPartitionSize\"?"));
}

TEST(GkeConfigTest, MpsBecomesAShare) {
  const auto converted = ConvertGkeConfig(
      R"({"GPUSharingConfig": {"GPUSharingStrategy": "mps", "MaxSharedClientsPerGPU": 2}})",
      "c.json");
  ASSERT_OK(converted);
  EXPECT_EQ(converted->config.pools.front().share,
            (Share{.by = &sharing::kMps, .replicas = 2, .multiple = MultipleSlots::kRefuse}));
  EXPECT_THAT(
      ConvertGkeConfig(
          R"({"GPUSharingConfig": {"GPUSharingStrategy": "mps", "MaxSharedClientsPerGPU": 64}})",
          "c.json"),
      StatusIs(StatusCode::kInvalidArgument, HasSubstr("64 clients share a GPU")));
}

TEST(GkeConfigTest, WhatCannotBeReadIsAnError) {
  EXPECT_THAT(ConvertGkeConfig(R"({"GPUPartitionSize": "half"})", "c.json"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("be a MIG profile")));
  EXPECT_THAT(ConvertGkeConfig(R"({"GPUSharingConfig": {"GPUSharingStrategy": "x"}})", "c.json"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("time-sharing or mps")));
}

}  // namespace
}  // namespace kgpu::config
