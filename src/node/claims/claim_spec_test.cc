#include "src/node/claims/claim_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/node/claims/choice.h"
#include "src/node/claims/test_claims.h"
#include "testing/status_matchers.h"

namespace kgpu::claims {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class ClaimSpecTest : public ::testing::Test {
 protected:
  StatusOr<cdi::Spec> Spec(std::vector<dra::AllocatedDevice> devices) const {
    const auto claim =
        ChooseDevices(TestAllocation(std::move(devices)), claims_.cards, dra::Checkpoint(), "n1");
    EXPECT_OK(claim);
    return claim.ok() ? SpecOf(*claim, {.cards = claims_.cards,
                                        .resources = claims_.resources,
                                        .plan = claims_.plan,
                                        .places = {.slices = "/var/lib/kgpu/share"}})
                      : claim.status();
  }

  TestClaims claims_;
};

TEST_F(ClaimSpecTest, EachDeviceIsOneOfTheClaim) {
  const auto spec = Spec({TestDevice("gpu-1"), TestDevice("gpu-0")});
  ASSERT_OK(spec);
  EXPECT_OK(cdi::Validate(*spec));
  EXPECT_EQ(spec->kind, "kgpu.dev/claim");
  EXPECT_THAT(spec->edits.env, ElementsAre("NVIDIA_VISIBLE_DEVICES=void"));
  ASSERT_THAT(spec->devices, SizeIs(2));
  EXPECT_EQ(spec->devices[0].name, fmt::format("{}-gpu-1", kTestUid));
  EXPECT_THAT(spec->devices[0].edits.device_nodes,
              ElementsAre(Field(&cdi::DeviceNode::path, "/dev/nvidia1")));
  EXPECT_THAT(spec->devices[0].edits.mounts, ElementsAre());
}

TEST_F(ClaimSpecTest, EveryDeviceHasTheLimitsOfAllOfTheClaimsSlices) {
  claims_.Configure("serve: {by: dra}\npools: [{share: {by: memory, size: 20Gi}}]\n");
  const auto spec = Spec({TestDevice("gpu-0-20gi"), TestDevice("gpu-1-20gi", "s")});
  ASSERT_OK(spec);
  EXPECT_OK(cdi::Validate(*spec));
  ASSERT_THAT(spec->devices, SizeIs(2));
  EXPECT_EQ(spec->devices[0].edits.mounts, spec->devices[1].edits.mounts);
  for (const unsigned gpu : {0U, 1U}) {
    EXPECT_THAT(spec->devices[0].edits.mounts,
                Contains(Field(&cdi::Mount::host_path, HasSubstr(pools::TestGpuName(gpu)))));
  }
}

TEST_F(ClaimSpecTest, APoolMayAllowOneShareOnly) {
  claims_.Configure(
      "serve: {by: dra}\npools: [{share: {by: time, replicas: 4, multiple: refuse}}]\n");
  EXPECT_OK(Spec({TestDevice("gpu-0")}));
  EXPECT_THAT(Message(Spec({TestDevice("gpu-0"), TestDevice("gpu-1")}).status()),
              HasSubstr("share.multiple"));
  claims_.Configure(
      "serve: {by: dra}\npools: [{share: {by: time, replicas: 4, multiple: spread}}]\n");
  EXPECT_OK(Spec({TestDevice("gpu-0"), TestDevice("gpu-1")}));
  EXPECT_FALSE(Spec({TestDevice("gpu-0"), TestDevice("gpu-0")}).ok());
}

TEST_F(ClaimSpecTest, AdminAccessToASharedGpuHasNoLimit) {
  claims_.Configure("serve: {by: dra}\npools: [{share: {by: memory, size: 20Gi}}]\n");
  dra::AllocatedDevice admin = TestDevice("gpu-0-20gi");
  admin.is_admin = true;
  const auto spec = Spec({admin});
  ASSERT_OK(spec);
  EXPECT_THAT(spec->devices[0].edits.mounts, SizeIs(0));
  EXPECT_THAT(spec->devices[0].edits.device_nodes, SizeIs(1));
}

TEST_F(ClaimSpecTest, AnUnhealthyDeviceIsGivenToAClaimThatToleratesIt) {
  for (pools::Resource& resource : claims_.resources) {
    for (pools::Slot& slot : resource.slots) {
      slot.health = {.is_healthy = false, .reason = "Xid", .message = "XID 79"};
    }
  }
  EXPECT_OK(Spec({TestDevice("gpu-0")}));
}

TEST(SpecFileTest, NamesTheClaim) {
  EXPECT_EQ(SpecFileOf("u1"), "kgpu-claim-u1.json");
  EXPECT_EQ(UidOfSpecFile(SpecFileOf("u1")), "u1");
  EXPECT_EQ(UidOfSpecFile("kgpu-kgpu.dev-gpu.json"), "");
  EXPECT_EQ(UidOfSpecFile("kgpu-claim-.json"), "");
}

}  // namespace
}  // namespace kgpu::claims
