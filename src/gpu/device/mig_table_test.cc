#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "src/gpu/device/mig.h"
#include "testing/status_matchers.h"

namespace kgpu::device {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const MigProfile* FindNamed(const std::vector<MigProfile>& profiles, const std::string& name) {
  const auto found = std::ranges::find(profiles, name, &MigProfile::name);
  return found == profiles.end() ? nullptr : &*found;
}

std::vector<std::string> NamesOfProfiles(uint16_t id) {
  std::vector<std::string> names;
  for (const MigProfile& profile : MigProfiles(id)) {
    names.push_back(profile.name);
  }
  return names;
}

TEST(MigTableTest, KnowsTheA100) {
  const auto profiles = MigProfiles(0x20b2);
  ASSERT_EQ(profiles.size(), 7U);
  const MigProfile* small = FindNamed(profiles, "1g.10gb");
  ASSERT_NE(small, nullptr);
  EXPECT_EQ(small->profile_id, 19U);
  EXPECT_EQ(small->memory.mebi(), 9856U);
  EXPECT_THAT(small->starts, ElementsAre(0, 1, 2, 3, 4, 5, 6));
  const MigProfile* twice = FindNamed(profiles, "1g.20gb");
  ASSERT_NE(twice, nullptr);
  EXPECT_THAT(twice->starts, ElementsAre(0, 2, 4, 6));
  EXPECT_EQ(twice->memory_slices, 2U);
}

TEST(MigTableTest, KnowsTheVariantsOfTheRtxPro6000) {
  EXPECT_THAT(NamesOfProfiles(0x2bb5),
              ElementsAre("4g.96gb", "4g.96gb+gfx", "2g.48gb", "2g.48gb+gfx", "2g.48gb+me.all",
                          "2g.48gb-me", "1g.24gb", "1g.24gb+me", "1g.24gb+gfx", "1g.24gb+me.all",
                          "1g.24gb-me"));
  const auto profiles = MigProfiles(0x2bb5);
  const MigProfile* graphics = FindNamed(profiles, "1g.24gb+gfx");
  ASSERT_NE(graphics, nullptr);
  EXPECT_EQ(graphics->nvml_profile, 10U);
  EXPECT_EQ(graphics->profile_id, 47U);
  const MigProfile* all_media = FindNamed(profiles, "1g.24gb+me.all");
  ASSERT_NE(all_media, nullptr);
  EXPECT_EQ(all_media->max_instances, 1U);
  EXPECT_EQ(all_media->encoders, 4U);
  EXPECT_EQ(FindNamed(profiles, "1g.24gb-me")->decoders, 0U);
}

TEST(MigTableTest, NamesTheProfilesOfModelsThatAreNotMeasured) {
  EXPECT_THAT(NamesOfProfiles(0x31c2), ElementsAre("7g.278gb", "4g.139gb", "3g.139gb", "2g.70gb",
                                                   "1g.70gb", "1g.35gb", "1g.35gb+me"));
  EXPECT_THAT(NamesOfProfiles(0x2321), ElementsAre("7g.94gb", "4g.47gb", "3g.47gb", "2g.24gb",
                                                   "1g.24gb", "1g.12gb", "1g.12gb+me"));
}

TEST(MigTableTest, KnowsThatThreeSlicesTakeHalfOfTheMemory) {
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

TEST(MigTableTest, KnowsTheFourSlicesOfTheA30) {
  const auto profiles = MigProfiles(0x20b7);
  ASSERT_EQ(profiles.size(), 5U);
  EXPECT_THAT(FindNamed(profiles, "2g.12gb")->starts, ElementsAre(0, 2));
  EXPECT_EQ(FindNamed(profiles, "2g.12gb+me")->max_instances, 1U);
}

TEST(MigTableTest, EveryProfileFitsItsGpuAndHasItsOwnIds) {
  for (const MigModel& model : MigModels()) {
    for (const uint16_t id : model.pci_device_ids) {
      const auto profiles = MigProfiles(id);
      ASSERT_FALSE(profiles.empty()) << model.name;
      std::set<unsigned> indexes;
      std::set<unsigned> ids;
      for (const MigProfile& profile : profiles) {
        EXPECT_TRUE(IsMigProfileName(profile.name)) << profile.name;
        EXPECT_LE(profile.starts.back() + profile.memory_slices, profiles.front().memory_slices)
            << profile.name;
        EXPECT_LE(profile.ofas, profiles.front().ofas) << profile.name;
        EXPECT_TRUE(indexes.insert(profile.nvml_profile).second) << profile.name;
        EXPECT_TRUE(ids.insert(profile.profile_id).second) << profile.name;
      }
    }
  }
}

TEST(MigTableTest, HasNoProfilesOfOtherModels) {
  EXPECT_THAT(MigProfiles(0x1eb8), IsEmpty());
  EXPECT_THAT(MigProfiles(0), IsEmpty());
}

TEST(MigTableTest, KnowsWhichModelsNeedAReset) {
  for (const MigModel& model : MigModels()) {
    EXPECT_EQ(model.needs_reset, model.name.starts_with("A")) << model.name;
  }
}

TEST(FindMigModelTest, TakesTheNamesThatPeopleUse) {
  for (const auto& [text, name] :
       std::vector<std::pair<std::string, std::string>>{{"A100-80GB", "A100-80GB"},
                                                        {"a100-sxm4-80gb", "A100-80GB"},
                                                        {"NVIDIA A100-SXM4-40GB", "A100-40GB"},
                                                        {"A100-80", "A100-80GB"},
                                                        {"A30", "A30-24GB"},
                                                        {"H100-SXM5", "H100-80GB"},
                                                        {"H100-PCIE-80GB", "H100-80GB"},
                                                        {"H200", "H200-141GB"},
                                                        {"H20", "GH200-96GB"},
                                                        {"B200", "B200-180GB"},
                                                        {"RTX PRO 6000", "RTX-PRO-6000-96GB"},
                                                        {"0x2330", "H100-80GB"},
                                                        {"0x20B210DE", "A100-80GB"}}) {
    const auto found = FindMigModel(text);
    ASSERT_OK(found) << text;
    EXPECT_EQ(found->name, name) << text;
  }
}

TEST(FindMigModelTest, LetsProfilesDecide) {
  const auto small = FindMigModel("A100", {"1g.5gb"});
  ASSERT_OK(small);
  EXPECT_EQ(small->name, "A100-40GB");
  const auto large = FindMigModel("H100", {"3g.47gb", "1g.24gb"});
  ASSERT_OK(large);
  EXPECT_EQ(large->name, "H100-NVL-94GB");
  EXPECT_THAT(FindMigModel("A100", {"9g.5gb"}).status(), StatusIs(StatusCode::kInvalidArgument));
}

TEST(FindMigModelTest, AsksWhichOfSeveralIsMeant) {
  EXPECT_THAT(FindMigModel("A100").status(),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("A100-40GB"), HasSubstr("A100-80GB"))));
  EXPECT_THAT(FindMigModel("T4").status(),
              StatusIs(StatusCode::kNotFound, HasSubstr("RTX-PRO-6000-96GB")));
  EXPECT_THAT(FindMigModel("").status(), StatusIs(StatusCode::kNotFound, HasSubstr("A30")));
}

}  // namespace
}  // namespace kgpu::device
