#include "testing/simhost/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>

#include "testing/status_matchers.h"

namespace kgpu::simhost {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::string_view kSmall =
    "name: small\n"
    "description: one T4\n"
    "driver: {version: 535.104.05, cuda_major: 12, cuda_minor: 2}\n"
    "kernel: 6.1.0\n"
    "nvlink: none\n"
    "gpus:\n"
    "  - {model: T4, pci: \"0000:00:04.0\"}\n";

StatusOr<Profile> Parse(std::string_view text) {
  return ParseProfile(text, "p.yaml", BuiltinModelText);
}

// `kSmall` with one piece replaced.
std::string With(std::string_view old_piece, std::string_view new_piece) {
  std::string text(kSmall);
  return text.replace(text.find(old_piece), old_piece.size(), new_piece);
}

class BuiltinProfileTest : public ::testing::TestWithParam<std::string_view> {};

TEST_P(BuiltinProfileTest, LoadsWithAllItsModels) {
  const StatusOr<Profile> profile =
      ParseProfile(BuiltinProfiles().at(GetParam()), GetParam(), BuiltinModelText);
  ASSERT_OK(profile);
  EXPECT_EQ(profile->name, GetParam());
  for (const ProfileGpu& gpu : profile->gpus) {
    EXPECT_TRUE(profile->models.contains(gpu.model)) << gpu.model;
  }
}

std::vector<std::string_view> ProfileNames() {
  std::vector<std::string_view> names;
  for (const auto& [name, text] : BuiltinProfiles()) {
    names.push_back(name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, BuiltinProfileTest, ::testing::ValuesIn(ProfileNames()),
                         [](const auto& param_info) {
                           std::string name(param_info.param);
                           std::ranges::replace_if(
                               name, [](char c) { return std::isalnum(c) == 0; }, '_');
                           return "P" + name;
                         });

TEST(ProfileTest, ReadsEveryFieldOfASmallOne) {
  const StatusOr<Profile> profile = Parse(kSmall);
  ASSERT_OK(profile);
  EXPECT_EQ(profile->driver.version, "535.104.05");
  EXPECT_EQ(profile->numa_cpu_lists.size(), 1);
  ASSERT_EQ(profile->gpus.size(), 1);
  EXPECT_EQ(profile->gpus[0].pci.str(), "0000:00:04.0");
  EXPECT_EQ(profile->gpus[0].mig, std::nullopt);
  EXPECT_EQ(profile->models.at("T4").memory_mib, 15360);
}

struct BadCase {
  std::string_view name;
  std::string_view old_piece;
  std::string_view new_piece;
  std::string_view error;
};

class BadProfileTest : public ::testing::TestWithParam<BadCase> {};

TEST_P(BadProfileTest, IsRefusedWithPlaceAndFix) {
  const BadCase& bad = GetParam();
  EXPECT_THAT(Parse(With(bad.old_piece, bad.new_piece)),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(StartsWith("p.yaml:"), HasSubstr(std::string(bad.error)))));
}

INSTANTIATE_TEST_SUITE_P(
    Table, BadProfileTest,
    ::testing::Values(
        BadCase{"UnknownKey", "kernel:", "kernal:", "kernal: is not a known key; did you mean"},
        BadCase{"Missing", "nvlink: none\n", "", "nvlink: missing; add it"},
        BadCase{"Duplicate", "kernel: 6.1.0\n", "kernel: 6.1.0\nkernel: 6\n",
                "p.yaml:5:1: duplicate key \"kernel\""},
        BadCase{"KernelOutside", "kernel: 6.1.0", "kernel: ../6.1.0", "as printed by uname -r"},
        BadCase{"WrongType", "driver: {version: 535.104.05, cuda_major: 12, cuda_minor: 2}",
                "driver: 535", "driver: a single value instead of a map"},
        BadCase{"NotANumber", "cuda_major: 12", "cuda_major: twelve",
                "driver.cuda_major: \"twelve\" must be an integer from 1 to 99"},
        BadCase{"OutOfRange", "cuda_major: 12", "cuda_major: 0",
                "driver.cuda_major: \"0\" must be an integer from 1 to 99"},
        BadCase{"Version", "535.104.05", "latest", "must be a driver version such as"},
        BadCase{"Word", "nvlink: none", "nvlink: ring",
                "nvlink: \"ring\" must be one of none, direct, switched"},
        BadCase{"Model", "model: T4", "model: T5", "did you mean \"T4\"?"},
        BadCase{"Pci", "0000:00:04.0", "00:0:4", "gpus[0].pci"},
        BadCase{"Numa", "pci:", "numa: 3, pci:", "gpus[0].numa: 3 must be below the 1 nodes"},
        BadCase{"Mig", "pci:", "mig: [1g.5gb], pci:", "\"1g.5gb\" is not a MIG profile of T4"},
        BadCase{"SecondDocument", "kernel: 6.1.0\n", "---\nkernel: 6.1.0\n",
                "more than one document"},
        BadCase{"Syntax", "gpus:", "gpus: [", "p.yaml:"}),
    [](const auto& param_info) { return std::string(param_info.param.name); });

TEST(ProfileTest, RefusesTwoGpusAtOneAddress) {
  const std::string text = std::string(kSmall) + "  - {model: T4, pci: \"0000:00:04.0\"}\n";
  EXPECT_THAT(Parse(text), StatusIs(StatusCode::kInvalidArgument,
                                    HasSubstr("duplicate PCI address 0000:00:04.0")));
}

TEST(ProfileTest, RefusesTextsBeyondTheLimits) {
  EXPECT_THAT(
      Parse(std::string(size_t{100} << 10, ' ')),
      StatusIs(StatusCode::kInvalidArgument, HasSubstr("102400 bytes exceed the limit of")));
  EXPECT_THAT(Parse(std::string(400, '[') + std::string(400, ']')),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("nested deeper")));
}

// The geometry of the reference table: profiles, their ids and how many fit.
TEST(GpuModelTest, HasTheMigGeometryOfAnH100) {
  const StatusOr<GpuModel> model =
      ParseGpuModel(BuiltinModels().at("H100-SXM5-80GB"), "H100-SXM5-80GB");
  ASSERT_OK(model);
  ASSERT_EQ(model->mig_profiles.size(), 7);
  const MigProfile* three = model->FindMigProfile("3g.40gb");
  ASSERT_NE(three, nullptr);
  EXPECT_EQ(three->id, 9);
  EXPECT_EQ(three->memory_slices, 4);
  EXPECT_THAT(three->starts, ::testing::ElementsAre(0, 4));
  EXPECT_EQ(three->multiprocessors, 60);
  EXPECT_EQ(model->FindMigProfile("7g.80gb")->memory_slices, 8);
  EXPECT_EQ(model->FindMigProfile("1g.20gb")->multiprocessors, 26);
  EXPECT_THAT(model->FindMigProfile("1g.20gb")->starts, ::testing::ElementsAre(0, 2, 4, 6));
  EXPECT_FALSE(model->needs_reset_for_mig);
}

TEST(GpuModelTest, EveryModelLoadsAndKeepsItsInstancesInsideTheSlices) {
  for (const auto& [id, text] : BuiltinModels()) {
    const StatusOr<GpuModel> model = ParseGpuModel(text, id);
    ASSERT_OK(model) << id;
    for (const MigProfile& profile : model->mig_profiles) {
      for (const unsigned start : profile.starts) {
        EXPECT_LE(start + profile.memory_slices, 8U) << id << " " << profile.name;
      }
      EXPECT_LE(profile.max_instances, profile.starts.size()) << id << " " << profile.name;
      EXPECT_LT(profile.memory_mib, model->memory_mib) << id << " " << profile.name;
    }
  }
}

TEST(GpuModelTest, OffersTheNearestName) {
  EXPECT_THAT(BuiltinModelText("H100-SXM5-80G"),
              StatusIs(StatusCode::kNotFound, HasSubstr("did you mean \"H100-SXM5-80GB\"?")));
}

}  // namespace
}  // namespace kgpu::simhost
