#include "src/gpu/device/mig.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace kgpu::device {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const MigProfile* Find(const std::vector<MigProfile>& profiles, const std::string& name) {
  const auto found = std::ranges::find(profiles, name, &MigProfile::name);
  return found == profiles.end() ? nullptr : &*found;
}

TEST(MigProfilesTest, KnowsTheA100) {
  const auto profiles = MigProfiles(0x20b2);
  ASSERT_EQ(profiles.size(), 7U);
  const MigProfile* small = Find(profiles, "1g.10gb");
  ASSERT_NE(small, nullptr);
  EXPECT_EQ(small->profile_id, 19U);
  EXPECT_EQ(small->memory.mebi(), 9856U);
  EXPECT_THAT(small->starts, ElementsAre(0, 1, 2, 3, 4, 5, 6));
  const MigProfile* twice = Find(profiles, "1g.20gb");
  ASSERT_NE(twice, nullptr);
  EXPECT_THAT(twice->starts, ElementsAre(0, 2, 4, 6));
  EXPECT_EQ(twice->memory_slices, 2U);
}

TEST(MigProfilesTest, KnowsThatThreeSlicesTakeHalfOfTheMemory) {
  for (const uint16_t id : {0x20b0, 0x20b2, 0x2330, 0x2335, 0x2901}) {
    for (const MigProfile& profile : MigProfiles(id)) {
      if (profile.slices == 3) {
        EXPECT_EQ(profile.memory_slices, 4U);
        EXPECT_THAT(profile.starts, ElementsAre(0, 4));
      }
      if (profile.slices == 7) {
        EXPECT_EQ(profile.memory_slices, 8U);
      }
    }
  }
}

TEST(MigProfilesTest, KnowsTheFourSlicesOfTheA30) {
  const auto profiles = MigProfiles(0x20b7);
  ASSERT_EQ(profiles.size(), 5U);
  EXPECT_THAT(Find(profiles, "2g.12gb")->starts, ElementsAre(0, 2));
  EXPECT_EQ(Find(profiles, "2g.12gb+me")->max_instances, 1U);
}

TEST(MigProfilesTest, EveryProfileFitsItsGpu) {
  for (const uint16_t id : {0x20b0, 0x20b2, 0x20b7, 0x2330, 0x2335, 0x2901, 0x2321, 0x2342, 0x2348,
                            0x2941, 0x3182, 0x31c2}) {
    const auto profiles = MigProfiles(id);
    ASSERT_FALSE(profiles.empty()) << id;
    const unsigned all = profiles.front().memory_slices;
    for (const MigProfile& profile : profiles) {
      EXPECT_TRUE(IsMigProfileName(profile.name)) << profile.name;
      EXPECT_LE(profile.starts.back() + profile.memory_slices, all) << profile.name;
    }
  }
}

TEST(MigProfilesTest, HasNoneForOtherModels) {
  EXPECT_THAT(MigProfiles(0x1eb8), IsEmpty());
  EXPECT_THAT(MigProfiles(0), IsEmpty());
}

TEST(MigProfileNameTest, TakesTheDriversName) {
  EXPECT_EQ(MigProfileName({.driver_name = "NVIDIA A100-SXM4-80GB MIG 1g.10gb"}), "1g.10gb");
  EXPECT_EQ(MigProfileName({.driver_name = "NVIDIA H100 80GB HBM3 MIG 1c.3g.40gb"}), "1c.3g.40gb");
  EXPECT_EQ(MigProfileName({.driver_name = "NVIDIA A100 MIG 1g.10gb+me"}), "1g.10gb+me");
}

TEST(MigProfileNameTest, ComputesWhatTheDriverDoesNotName) {
  struct Case {
    unsigned gi;
    unsigned ci;
    uint64_t mib;
    uint64_t gpu_mib;
    unsigned ofa;
    std::string name;
  };
  for (const Case& c :
       {Case{1, 1, 9856, 81920, 0, "1g.10gb"}, Case{1, 1, 9856, 81920, 1, "1g.10gb+me"},
        Case{1, 1, 4864, 40960, 0, "1g.5gb"}, Case{2, 2, 9856, 40960, 0, "2g.10gb"},
        Case{3, 3, 40192, 81920, 0, "3g.40gb"}, Case{3, 1, 40192, 81920, 0, "1c.3g.40gb"},
        Case{7, 7, 80384, 81920, 1, "7g.80gb"}, Case{1, 1, 9984, 81559, 0, "1g.10gb"},
        Case{1, 1, 16384, 143771, 0, "1g.18gb"}, Case{3, 3, 71500, 143771, 0, "3g.71gb"}}) {
    EXPECT_EQ(MigProfileName({.gpu_instance_slices = c.gi,
                              .compute_instance_slices = c.ci,
                              .ofa_engines = c.ofa,
                              .memory = MebiBytes(c.mib),
                              .gpu_memory = MebiBytes(c.gpu_mib)}),
              c.name);
  }
}

TEST(MigProfileNameTest, KnowsMediaProfilesByTheirId) {
  EXPECT_EQ(MigProfileName({.gpu_instance_slices = 1,
                            .compute_instance_slices = 1,
                            .memory = MebiBytes(9856),
                            .gpu_memory = MebiBytes(81920),
                            .profile_id = 20}),
            "1g.10gb+me");
}

TEST(MigProfileNameTest, IsEmptyWhenNothingIsKnown) {
  EXPECT_EQ(MigProfileName({}), "");
  EXPECT_EQ(MigProfileName({.driver_name = "X MIG ../../etc"}), "");
}

TEST(IsMigProfileNameTest, TakesProfilesOnly) {
  for (const std::string good : {"1g.5gb", "7g.141gb", "1c.3g.40gb", "1g.10gb+me", "1g.24gb+gfx",
                                 "1g.24gb-me", "1g.24gb+me.all"}) {
    EXPECT_TRUE(IsMigProfileName(good)) << good;
  }
  for (const std::string bad : {"", "1g", "1g.gb", "g.5gb", "1c.5gb", "1g.5gb ", "1g.5gb+x",
                                "99999g.5gb", "1g.5gb/..", "1c.1c.3g.40gb"}) {
    EXPECT_FALSE(IsMigProfileName(bad)) << bad;
  }
}

}  // namespace
}  // namespace kgpu::device
