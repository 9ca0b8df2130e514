#include "src/gpu/probe/decode_mig.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "src/gpu/probe/mig_protocol.h"
#include "testing/status_matchers.h"

namespace kgpu::probe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

template <typename Payload>
std::span<const std::byte> MigBytes(const Payload& payload) {
  return std::as_bytes(std::span(&payload, 1));
}

MigProfilesPayload OneProfile() {
  MigProfilesPayload payload{};
  payload.count = 1;
  MigProfileEntry& entry = payload.profiles[0];
  entry.nvml_profile = 9;
  entry.profile_id = 15;
  entry.slices = 1;
  entry.max_instances = 4;
  entry.memory_mib = 20096;
  entry.memory_slices = 2;
  entry.start_count = 4;
  for (uint8_t i = 0; i < 4; ++i) {
    entry.starts[i] = static_cast<uint8_t>(6 - 2 * i);
  }
  (void)snprintf(entry.name, sizeof(entry.name), "MIG 1g.20gb");
  return payload;
}

TEST(DecodeMigTest, ReadsAProfile) {
  const MigProfilesPayload payload = OneProfile();
  const auto profiles = DecodeMigProfiles(MigBytes(payload));
  ASSERT_OK(profiles);
  ASSERT_THAT(*profiles, SizeIs(1));
  const device::MigProfile& profile = profiles->front();
  EXPECT_EQ(profile.name, "1g.20gb");
  EXPECT_EQ(profile.nvml_profile, 9U);
  EXPECT_EQ(profile.profile_id, 15U);
  EXPECT_EQ(profile.memory_slices, 2U);
  EXPECT_THAT(profile.starts, ElementsAre(0, 2, 4, 6));
  EXPECT_EQ(profile.memory, MebiBytes(20096));
}

TEST(DecodeMigTest, LeavesOutAProfileWithoutPlacements) {
  MigProfilesPayload payload = OneProfile();
  payload.profiles[0].start_count = 0;
  const auto profiles = DecodeMigProfiles(MigBytes(payload));
  ASSERT_OK(profiles);
  EXPECT_THAT(*profiles, IsEmpty());
}

TEST(DecodeMigTest, RefusesProfilesOutOfRange) {
  const auto text = [](const MigProfilesPayload& payload) {
    return std::string(Message(DecodeMigProfiles(MigBytes(payload)).status()));
  };
  MigProfilesPayload payload = OneProfile();
  payload.count = 19;
  EXPECT_THAT(text(payload), HasSubstr("number of MIG profiles 19"));
  payload = OneProfile();
  payload.profiles[0].start_count = 9;
  EXPECT_THAT(text(payload), HasSubstr("number of MIG placements 9"));
  payload = OneProfile();
  payload.profiles[0].starts[1] = 77;
  EXPECT_THAT(text(payload), HasSubstr("MIG placement 77"));
  payload = OneProfile();
  payload.profiles[0].ofas = 1U << 20;
  EXPECT_THAT(text(payload), HasSubstr("MIG profile's number 1048576"));
  EXPECT_THAT(DecodeMigProfiles(MigBytes(payload).first(8)).status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("MIG profiles has 8 bytes")));
}

TEST(DecodeMigTest, ReadsALayoutByStart) {
  MigInstancesPayload payload{};
  payload.is_enabled = 1;
  payload.count = 2;
  payload.instances[0] = {
      .id = 2, .profile_id = 9, .start = 4, .size = 4, .compute_count = 0, .compute = {}};
  payload.instances[1] = {
      .id = 1, .profile_id = 9, .start = 0, .size = 4, .compute_count = 2, .compute = {}};
  payload.instances[1].compute[0] = {.id = 1, .slices = 1};
  payload.instances[1].compute[1] = {.id = 0, .slices = 2};
  const auto layout = DecodeMigLayout(MigBytes(payload));
  ASSERT_OK(layout);
  EXPECT_TRUE(layout->mode.is_enabled);
  EXPECT_FALSE(layout->mode.is_pending_enabled);
  ASSERT_THAT(layout->instances, SizeIs(2));
  EXPECT_EQ(layout->instances[0].id, 1U);
  EXPECT_THAT(layout->instances[0].compute,
              ElementsAre(ComputeInstanceReport{.id = 0, .slices = 2},
                          ComputeInstanceReport{.id = 1, .slices = 1}));
  EXPECT_THAT(layout->instances[1].compute, IsEmpty());
  payload.instances[0].compute_count = 9;
  EXPECT_THAT(DecodeMigLayout(MigBytes(payload)).status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("compute instances 9")));
  payload.count = 17;
  EXPECT_FALSE(DecodeMigLayout(MigBytes(payload)).ok());
}

TEST(DecodeMigTest, ReadsTheAnswersToChanges) {
  const MigModePayload mode{.activation = nvml::kErrorInUse, .is_enabled = 0, .is_pending = 1};
  const auto read_mode = DecodeMigMode(MigBytes(mode));
  ASSERT_OK(read_mode);
  EXPECT_EQ(read_mode->activation, nvml::kErrorInUse);
  EXPECT_TRUE(read_mode->mode.is_pending_enabled);
  const GpuInstancePayload made{.id = 7, .start = 3, .size = 1};
  const auto read = DecodeGpuInstance(MigBytes(made));
  ASSERT_OK(read);
  EXPECT_EQ(read->start, 3U);
  const GpuInstancePayload garbage{.id = 7, .start = 300, .size = 1};
  EXPECT_FALSE(DecodeGpuInstance(MigBytes(garbage)).ok());
  const ComputeInstancePayload part{.id = 3};
  const auto id = DecodeComputeInstance(MigBytes(part));
  ASSERT_OK(id);
  EXPECT_EQ(*id, 3U);
}

TEST(MigProtocolTest, PacksArgumentsIntoOneNumber) {
  constexpr MigPlace kPlace{.profile_id = 65535, .start = 7, .size = 8};
  const MigPlace place = MigPlace::Unpack(kPlace.Pack());
  EXPECT_EQ(place.profile_id, 65535U);
  EXPECT_EQ(place.start, 7U);
  EXPECT_EQ(place.size, 8U);
  const MigPart part = MigPart::Unpack(MigPart{.gpu_instance = 14, .number = 6}.Pack());
  EXPECT_EQ(part.gpu_instance, 14U);
  EXPECT_EQ(part.number, 6U);
}

}  // namespace
}  // namespace kgpu::probe
