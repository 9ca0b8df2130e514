#include "src/node/claims/choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/node/claims/test_claims.h"
#include "testing/status_matchers.h"

namespace kgpu::claims {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kSlices[] =
    "serve: {by: dra}\n"
    "pools: [{share: {by: memory, size: 20Gi}}]\n";

class ChoiceTest : public ::testing::Test {
 protected:
  StatusOr<dra::PreparedClaim> Choose(const dra::Allocation& allocation) const {
    return ChooseDevices(allocation, claims_.cards, taken_, "n1");
  }
  // Prepares a claim on the devices under another UID.
  void Take(std::string uid, std::vector<dra::AllocatedDevice> devices) {
    const auto claim = Choose(TestAllocation(std::move(devices), uid));
    ASSERT_OK(claim);
    taken_.claims[std::move(uid)] = *claim;
  }
  static dra::AllocatedDevice Share(std::string_view memory) {
    dra::AllocatedDevice device = TestDevice("gpu-0-20gi");
    device.share_id = "s1";
    device.consumed = {{"memory", std::string(memory)}};
    return device;
  }

  TestClaims claims_;
  dra::Checkpoint taken_;
};

TEST_F(ChoiceTest, AClaimHasItsGpusToItself) {
  const auto claim = Choose(TestAllocation({TestDevice("gpu-1"), TestDevice("gpu-0", "s")}));
  ASSERT_OK(claim);
  ASSERT_THAT(claim->devices, SizeIs(2));
  EXPECT_EQ(claim->devices[0].device_uuid, pools::TestGpuName(1));
  EXPECT_EQ(claim->devices[1].request, "s");
  EXPECT_THAT(claim->devices[0].cdi_ids,
              ElementsAre(fmt::format("kgpu.dev/claim={}-gpu-1", kTestUid)));
  EXPECT_THAT(claim->devices[0].slots, IsEmpty());
}

TEST_F(ChoiceTest, NoDeviceIsPreparedForTwoClaims) {
  Take("u1", {TestDevice("gpu-0")});
  const auto second = Choose(TestAllocation({TestDevice("gpu-0")}));
  EXPECT_EQ(second.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(second.status()), HasSubstr("gpu-0 is prepared for claim ml/c"));
  EXPECT_OK(Choose(TestAllocation({TestDevice("gpu-0")}, "u1"))) << "the same claim again";
  EXPECT_FALSE(Choose(TestAllocation({TestDevice("gpu-1"), TestDevice("gpu-1", "s")})).ok());
}

TEST_F(ChoiceTest, AdminAccessIsBesideTheOthers) {
  dra::AllocatedDevice admin = TestDevice("gpu-0");
  admin.is_admin = true;
  Take("admin", {admin});
  Take("u1", {TestDevice("gpu-0")});
  EXPECT_OK(Choose(TestAllocation({admin}, "u3")));
}

TEST_F(ChoiceTest, ADeviceThatIsNotHereIsNamed) {
  const auto gone = Choose(TestAllocation({TestDevice("gpu-7")}));
  EXPECT_EQ(gone.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(Message(gone.status()), HasSubstr("no device gpu-7"));
  dra::AllocatedDevice elsewhere = TestDevice("gpu-0");
  elsewhere.pool = "n2";
  EXPECT_EQ(Choose(TestAllocation({elsewhere})).status().code(), StatusCode::kNotFound);
}

TEST_F(ChoiceTest, AShareOfMemoryIsAsManySlicesAsItConsumes) {
  claims_.Configure(kSlices);
  const auto claim = Choose(TestAllocation({Share("40Gi")}));
  ASSERT_OK(claim);
  EXPECT_THAT(claim->devices[0].slots,
              ElementsAre(pools::TestGpuName(0) + "::0", pools::TestGpuName(0) + "::1"));
  EXPECT_EQ(claim->devices[0].share_id, "s1");
}

TEST_F(ChoiceTest, SlicesAreGivenToOneClaimAtATime) {
  claims_.Configure(kSlices);
  Take("u1", {Share("60Gi")});
  const auto rest = Choose(TestAllocation({Share("20Gi")}));
  ASSERT_OK(rest);
  EXPECT_THAT(rest->devices[0].slots, ElementsAre(pools::TestGpuName(0) + "::3"));
  const auto much = Choose(TestAllocation({Share("40Gi")}));
  EXPECT_EQ(much.status().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(Message(much.status()), HasSubstr("gpu-0-20gi has 1 of 4 free shares, 2 are needed"));
  taken_.claims.erase("u1");
  EXPECT_OK(Choose(TestAllocation({Share("40Gi")})));
}

// The pool has changed while a claim has the device in its former form.
TEST_F(ChoiceTest, NoDeviceIsWholeForOneClaimAndSharedForAnother) {
  Take("u1", {TestDevice("gpu-0")});
  claims_.Configure(kSlices);
  EXPECT_THAT(Message(Choose(TestAllocation({Share("20Gi")})).status()),
              HasSubstr("prepared for claim ml/c"));
  taken_.claims.clear();
  Take("u2", {Share("20Gi")});
  claims_.Configure("serve: {by: dra}\n");
  EXPECT_THAT(Message(Choose(TestAllocation({TestDevice("gpu-0")})).status()),
              HasSubstr("prepared for claim ml/c"));
  EXPECT_OK(Choose(TestAllocation({TestDevice("gpu-1")})));
}

TEST_F(ChoiceTest, TwoSharesOfOneDeviceHaveNamesOfTheirOwn) {
  claims_.Configure("serve: {by: dra}\npools: [{share: {by: time, replicas: 4}}]\n");
  dra::AllocatedDevice share = TestDevice("gpu-0");
  share.consumed = {{"gpu.nvidia.com/shares", "1"}};
  const auto claim = Choose(TestAllocation({share, share}));
  ASSERT_OK(claim);
  EXPECT_THAT(claim->devices[1].cdi_ids,
              ElementsAre(fmt::format("kgpu.dev/claim={}-gpu-0-2", kTestUid)));
  EXPECT_NE(claim->devices[0].slots, claim->devices[1].slots);
  share.consumed = {{"shares", "0"}};
  EXPECT_EQ(Choose(TestAllocation({share})).status().code(), StatusCode::kInvalidArgument);
}

dra::AllocatedDevice WithMps(std::string_view name, std::string_view request) {
  dra::AllocatedDevice device = TestDevice(name, request);
  device.parameters.mps = dra::MpsParameters{.threads = 50, .memory = GibiBytes(10)};
  return device;
}

TEST_F(ChoiceTest, AClaimSharesItsGpusAmongItsOwnContainers) {
  dra::AllocatedDevice second = WithMps("gpu-1", "s");
  second.parameters.mps->memory_of = {{"1", GibiBytes(7)}};
  dra::AllocatedDevice slow = TestDevice("gpu-0", "t");
  slow.parameters = {.time_slice = dra::TimeSlice::kLong};
  const auto claim = Choose(TestAllocation({slow, second}));
  ASSERT_OK(claim);
  EXPECT_EQ(claim->devices[0].time_slice, dra::TimeSlice::kLong);
  EXPECT_EQ(claim->devices[1].mps, (dra::MpsLimits{.threads = 50, .memory = GibiBytes(7)}));
  second.parameters.mps->memory_of = {{pools::TestGpuName(1), GibiBytes(5)}};
  EXPECT_EQ(Choose(TestAllocation({slow, second}))->devices[1].mps->memory, GibiBytes(5));
  second.parameters.mps->memory_of.clear();
  EXPECT_EQ(Choose(TestAllocation({slow, second}))->devices[1].mps->memory, GibiBytes(10));
}

TEST_F(ChoiceTest, RefusesSharingThatCannotBe) {
  const auto refusal = [this](std::vector<dra::AllocatedDevice> devices) {
    return std::string(Message(Choose(TestAllocation(std::move(devices))).status()));
  };
  EXPECT_THAT(refusal({WithMps("gpu-0", "r"), WithMps("gpu-1", "r")}),
              HasSubstr("request r has several devices with MPS"));
  dra::AllocatedDevice admin = WithMps("gpu-0", "r");
  admin.is_admin = true;
  EXPECT_THAT(refusal({admin}), HasSubstr("admin access changes no device"));
  claims_.Configure(kSlices);
  EXPECT_THAT(refusal({WithMps("gpu-0-20gi", "r")}), HasSubstr("other claims share it"));
  claims_.Divide();
  dra::AllocatedDevice turns = TestDevice("gpu-0-mig-1g10gb-19-0");
  turns.parameters.time_slice = dra::TimeSlice::kLong;
  EXPECT_THAT(refusal({turns}), HasSubstr("a MIG device has no time slices"));
}

TEST_F(ChoiceTest, AMigDeviceOfAClaimIsMade) {
  claims_.Divide();
  const auto claim = Choose(TestAllocation({TestDevice("gpu-1-mig-3g40gb-9-4")}));
  ASSERT_OK(claim);
  ASSERT_TRUE(claim->devices[0].made);
  EXPECT_EQ(*claim->devices[0].made,
            (dra::MadeInstance{.gpu = pools::TestGpuName(1), .profile = "3g.40gb", .start = 4}));
  EXPECT_EQ(claim->devices[0].device_uuid, "");
}

// Also where the API server does not know counters.
TEST_F(ChoiceTest, AGpuIsGivenWholeOrInParts) {
  claims_.Divide();
  Take("u1", {TestDevice("gpu-0-mig-1g10gb-19-6")});
  EXPECT_THAT(Message(Choose(TestAllocation({TestDevice("gpu-0")})).status()),
              HasSubstr("gpu-0 is prepared for claim ml/c"));
  EXPECT_FALSE(Choose(TestAllocation({TestDevice("gpu-0-mig-1g10gb-19-6")})).ok());
  EXPECT_OK(Choose(TestAllocation({TestDevice("gpu-0-mig-1g10gb-19-5")})));
  Take("u2", {TestDevice("gpu-1")});
  EXPECT_FALSE(Choose(TestAllocation({TestDevice("gpu-1-mig-1g10gb-19-6")})).ok());
}

TEST_F(ChoiceTest, AdminAccessMakesNoMigDevice) {
  claims_.Divide();
  dra::AllocatedDevice admin = TestDevice("gpu-0-mig-1g10gb-19-6");
  admin.is_admin = true;
  EXPECT_THAT(Message(Choose(TestAllocation({admin})).status()), HasSubstr("does not exist now"));
  Take("u1", {TestDevice("gpu-0-mig-1g10gb-19-6")});
  taken_.claims["u1"].devices[0].device_uuid = "MIG-1";
  const auto claim = Choose(TestAllocation({admin}));
  ASSERT_OK(claim);
  EXPECT_EQ(claim->devices[0].device_uuid, "MIG-1");
  EXPECT_FALSE(claim->devices[0].made);
}

}  // namespace
}  // namespace kgpu::claims
