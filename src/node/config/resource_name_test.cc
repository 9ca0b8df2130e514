#include "src/node/config/resource_name.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "testing/status_matchers.h"

namespace kgpu::config {
namespace {

using ::testing::HasSubstr;

TEST(ResourceNameTest, TakesWhatTheKubeletTakes) {
  const std::string longest = std::string(63, 'a');
  for (const std::string& name :
       {std::string("nvidia.com/gpu"), std::string("nvidia.com/mig-1g.10gb.me"),
        std::string("x/Y_z"), "example.com/" + longest,
        fmt::format("{0}.{0}.{0}.{1:b>52}/a", longest, "")}) {
    EXPECT_OK(CheckResourceName(name)) << name;
  }
}

TEST(ResourceNameTest, TellsTheRuleThatIsBroken) {
  const struct {
    std::string name;
    const char* text;
  } cases[] = {
      {"gpu", "one slash"},
      {"nvidia.com/gpu/0", "one slash"},
      {"", "one slash"},
      {"kubernetes.io/gpu", "Kubernetes"},
      {"x.kubernetes.io/gpu", "Kubernetes"},
      {"requests.nvidia.com/gpu", "remove it"},
      {"Nvidia.com/gpu", "lower-case"},
      {"/gpu", "lower-case"},
      {"a..b/gpu", "lower-case"},
      {"-a/gpu", "lower-case"},
      {"nvidia.com/", "after the slash only"},
      {"nvidia.com/-gpu", "after the slash only"},
      {"nvidia.com/gpu.", "after the slash only"},
      {"nvidia.com/g pu", "after the slash only"},
      {"nvidia.com/" + std::string(64, 'a'), "64 characters after the slash, limit 63"},
      {std::string(245, 'a') + "/gpu", "245 characters before the slash, limit 244"},
      {"nvidia.com/{model}", "after the slash only"},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(CheckResourceName(c.name),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr(c.text)))
        << c.name;
  }
}

TEST(ResourceNameTest, ATemplateMayHoldTheModel) {
  EXPECT_OK(CheckResourceTemplate("nvidia.com/{model}"));
  EXPECT_OK(CheckResourceTemplate("nvidia.com/gpu-{model}.shared"));
  EXPECT_THAT(
      CheckResourceTemplate("nvidia.com/{profile}"),
      StatusIs(StatusCode::kInvalidArgument, HasSubstr("only {model} and {size} are allowed")));
  EXPECT_THAT(CheckResourceTemplate("{model}.com/gpu"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("\"{model}.com/gpu\"")));
}

TEST(ResourceNameTest, TheModelIsPutInWithLegalCharacters) {
  EXPECT_EQ(ResourceOfModel("nvidia.com/gpu-{model}", "A100-SXM4-80GB"),
            "nvidia.com/gpu-A100-SXM4-80GB");
  EXPECT_EQ(ResourceOfModel("nvidia.com/{model}", "a {model}"), "nvidia.com/a--model-");
  EXPECT_EQ(ResourceOfModel("nvidia.com/gpu", "T4"), "nvidia.com/gpu");
}

TEST(ResourceNameTest, MigProfilesAreCalledAsNvidiasPluginDoes) {
  EXPECT_EQ(ResourceOfMigProfile("1g.10gb"), "nvidia.com/mig-1g.10gb");
  EXPECT_EQ(ResourceOfMigProfile("1g.10gb+me"), "nvidia.com/mig-1g.10gb.me");
  EXPECT_EQ(ResourceOfMigProfile("1g.10gb+me.all"), "nvidia.com/mig-1g.10gb.me.all");
  EXPECT_EQ(ResourceOfMigProfile("1g.12gb-me"), "nvidia.com/mig-1g.12gb-me");
  EXPECT_EQ(ResourceOfMigProfile("1c.3g.40gb"), "nvidia.com/mig-1c.3g.40gb");
}

}  // namespace
}  // namespace kgpu::config
