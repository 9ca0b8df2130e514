#include "src/node/choice/choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "testing/status_matchers.h"

namespace kgpu::choice {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Folders TestFolders() {
  Folders folders;
  folders.policy = {.name = "kgpu-policy", .path = "/etc/kgpu/policy"};
  folders.configs = {.name = "kgpu-configs", .path = "/etc/kgpu/configs"};
  return folders;
}

Folders WithBoth() {
  Folders folders = TestFolders();
  folders.policy.files = {{"training.yaml", "policy's training"},
                          {"both.yaml", "policy's"},
                          {"selectors.yaml",
                           "- {config: training, nodeSelector: {matchLabels: {pool: training}}}\n"
                           "- {config: mig, nodeSelector: {matchLabels: {pool: mig}}}\n"
                           "- {config: gone, nodeSelector: {matchLabels: {pool: gone}}}\n"}};
  folders.configs.files = {
      {"mig.yaml", "mig"},
      {"shared", "shared"},
      {"both.yaml", "configs'"},
      {"selectors.yaml", "- {config: shared, nodeSelector: {matchLabels: {size: small}}}\n"}};
  return folders;
}

std::string WhyOf(const Labels& labels, const Folders& folders = WithBoth()) {
  const auto choice = Choose(folders, labels);
  EXPECT_OK(choice.status());
  return choice.ok() ? fmt::format("{}: {}", choice->why, choice->text) : "";
}

TEST(ChoiceTest, ALabelComesBeforeSelectors) {
  EXPECT_EQ(WhyOf({{"kgpu.dev/config", "mig"}, {"pool", "training"}}),
            "label kgpu.dev/config=mig: mig");
}

TEST(ChoiceTest, OurLabelComesBeforeNvidias) {
  EXPECT_EQ(WhyOf({{"kgpu.dev/config", "mig"}, {"nvidia.com/device-plugin.config", "shared"}}),
            "label kgpu.dev/config=mig: mig");
  EXPECT_EQ(WhyOf({{"kgpu.dev/config", ""}, {"nvidia.com/device-plugin.config", "shared"}}),
            "label nvidia.com/device-plugin.config=shared: shared");
}

TEST(ChoiceTest, ThePolicysSelectorsComeBeforeTheOthers) {
  EXPECT_EQ(WhyOf({{"pool", "training"}, {"size", "small"}}),
            "selector 1 of kgpu-policy: policy's training");
  EXPECT_EQ(WhyOf({{"size", "small"}}), "selector 1 of kgpu-configs: shared");
}

TEST(ChoiceTest, ANameIsLookedUpInBothFolders) {
  EXPECT_EQ(WhyOf({{"kgpu.dev/config", "training"}}),
            "label kgpu.dev/config=training: policy's training");
  EXPECT_EQ(WhyOf({{"kgpu.dev/config", "both"}}), "label kgpu.dev/config=both: configs'");
  EXPECT_EQ(WhyOf({{"pool", "mig"}}), "selector 2 of kgpu-policy: mig");
}

TEST(ChoiceTest, OtherwiseTheDefaultIsUsed) {
  EXPECT_EQ(WhyOf({{"pool", "other"}}), "default: ");
  EXPECT_EQ(WhyOf({}, TestFolders()), "default: ");
}

TEST(ChoiceTest, NvidiasLabelMeansNothingWithoutConfigurations) {
  EXPECT_EQ(WhyOf({{"nvidia.com/device-plugin.config", "mig"}}, TestFolders()), "default: ");
  // Those of a policy, and selectors, are none of an admin.
  Folders folders = WithBoth();
  folders.configs.files = {{"selectors.yaml", "[]"}};
  EXPECT_EQ(WhyOf({{"nvidia.com/device-plugin.config", "mig"}}, folders), "default: ");
  folders.configs.problem = "cannot be read";
  EXPECT_THAT(Choose(folders, {{"nvidia.com/device-plugin.config", "mig"}}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("cannot be read")));
  EXPECT_THAT(Choose(TestFolders(), {{"kgpu.dev/config", "mig"}}),
              StatusIs(StatusCode::kNotFound,
                       HasSubstr("label kgpu.dev/config=mig: the ConfigMaps kgpu-configs and "
                                 "kgpu-policy are empty: add mig.yaml to kgpu-configs")));
}

TEST(ChoiceTest, SaysWhichFileAndConfigMap) {
  const auto choice = Choose(WithBoth(), {{"kgpu.dev/config", "shared"}});
  ASSERT_OK(choice.status());
  EXPECT_EQ(choice->name, "shared");
  EXPECT_EQ(choice->from, "kgpu-configs");
  EXPECT_EQ(choice->file, "/etc/kgpu/configs/shared");
}

TEST(ChoiceTest, AnUnknownNameListsThoseThereAre) {
  EXPECT_THAT(Choose(WithBoth(), {{"kgpu.dev/config", "shard"}}),
              StatusIs(StatusCode::kNotFound,
                       AllOf(HasSubstr("label kgpu.dev/config=shard"),
                             HasSubstr("kgpu-configs and kgpu-policy have no \"shard\", only "
                                       "both, mig, shared, training: did you mean \"shared\"?"))));
  EXPECT_THAT(Choose(WithBoth(), {{"kgpu.dev/config", "z"}}),
              StatusIs(StatusCode::kNotFound,
                       HasSubstr("use one of these, or add z.yaml to kgpu-configs")));
  EXPECT_THAT(Choose(WithBoth(), {{"pool", "gone"}}),
              StatusIs(StatusCode::kNotFound, HasSubstr("selector 3 of kgpu-policy")));
}

TEST(ChoiceTest, TheSelectorsAreNoConfiguration) {
  for (const char* name : {"selectors", "selectors.yaml"}) {
    EXPECT_THAT(Choose(WithBoth(), {{"kgpu.dev/config", name}}), StatusIs(StatusCode::kNotFound))
        << name;
  }
}

TEST(ChoiceTest, BrokenSelectorsOnlyMatterWhereTheyDecide) {
  Folders folders = WithBoth();
  folders.policy.files["selectors.yaml"] = "- {config: training}\n";
  EXPECT_EQ(WhyOf({{"kgpu.dev/config", "mig"}}, folders), "label kgpu.dev/config=mig: mig");
  EXPECT_THAT(Choose(folders, {{"size", "small"}}),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("/etc/kgpu/policy/selectors.yaml:1:3: [0]: nodeSelector")));
}

TEST(ChoiceTest, AFolderThatCannotBeReadIsAProblem) {
  Folders folders = TestFolders();
  EXPECT_FALSE(IsUsed(folders));
  folders.configs.problem = "/etc/kgpu/configs: permission denied";
  EXPECT_TRUE(IsUsed(folders));
  for (const Labels& labels : {Labels{}, Labels{{"kgpu.dev/config", "mig"}}}) {
    EXPECT_THAT(Choose(folders, labels),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("permission denied")));
  }
}

TEST(ChoiceTest, ListsNames) {
  EXPECT_THAT(NamesIn(WithBoth().configs), ElementsAre("both", "mig", "shared"));
}

TEST(ChoiceTest, ReadsTheConfigurationsOfOtherPlugins) {
  const auto read = ReadAnyConfig(
      "version: v1\n"
      "flags: {migStrategy: mixed}\n"
      "sharing:\n"
      "  timeSlicing:\n"
      "    resources: [{name: nvidia.com/gpu, replicas: 4}]\n"
      "imex: {required: true}\n",
      "/etc/kgpu/configs/a100");
  ASSERT_OK(read.status());
  EXPECT_EQ(read->config.mig, config::MigStrategy::kMixed);
  EXPECT_TRUE(std::ranges::any_of(
      read->config.pools, [](const config::Pool& pool) { return pool.share.replicas == 4; }));
  EXPECT_THAT(read->notes, ElementsAre(HasSubstr("/etc/kgpu/configs/a100:6:")));
  const auto gke = ReadAnyConfig(R"({"GPUPartitionSize": "1g.5gb"})", "gke.json");
  ASSERT_OK(gke.status());
  const auto own = ReadAnyConfig(
      "apiVersion: kgpu.dev/v1\nkind: NodeConfig\npools: [{resource: a.b/c}]\n", "own.yaml");
  ASSERT_OK(own.status());
  EXPECT_EQ(own->config.pools.at(0).resource, "a.b/c");
  EXPECT_THAT(own->notes, IsEmpty());
  const auto none = ReadAnyConfig("", "none.yaml");
  ASSERT_OK(none.status());
  EXPECT_EQ(none->config, config::DefaultNodeConfig());
}

TEST(ChoiceTest, ErrorsOfAConfigurationHaveItsPositions) {
  EXPECT_THAT(ReadAnyConfig("apiVersion: kgpu.dev/v1\nkind: NodeConfig\npool: []\n", "c/mig.yaml"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("c/mig.yaml:3:1: pool: unknown key, "
                                                               "did you mean \"pools\"?")));
  EXPECT_THAT(ReadAnyConfig("version: v2\n", "c/a100"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("c/a100:1:")));
}

}  // namespace
}  // namespace kgpu::choice
