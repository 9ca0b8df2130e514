#include "src/node/config/pool_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "src/platform/base/status.h"
#include "testing/status_matchers.h"

namespace kgpu::config {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kPoolRulesHead = "apiVersion: kgpu.dev/v1\nkind: NodeConfig\n";

StatusOr<NodeConfig> ParsePools(std::string_view pools) {
  return ParseNodeConfig(fmt::format("{}pools:\n{}", kPoolRulesHead, pools), "n.yaml");
}

TEST(PoolRulesTest, APoolIsTheKubeletsUnlessItSaysLocal) {
  const auto config = ParsePools(
      "- devices: {index: [0]}\n"
      "  provider: local\n"
      "- devices: {index: [1]}\n"
      "  provider: kubelet\n"
      "- resource: nvidia.com/rest\n");
  ASSERT_OK(config);
  EXPECT_EQ(config->pools[0].provider, Provider::kLocal);
  EXPECT_EQ(config->pools[1].provider, Provider::kKubelet);
  EXPECT_EQ(config->pools[2].provider, Provider::kKubelet);
}

TEST(PoolRulesTest, ALocalPoolHasADefaultNameOfItsOwn) {
  EXPECT_EQ(ResourceOf(Pool{.provider = Provider::kLocal}), kDefaultLocalPool);
  EXPECT_EQ(ResourceOf(Pool{.resource = "example.com/x", .provider = Provider::kLocal}),
            "example.com/x");
  EXPECT_EQ(ResourceOf(Pool{}), kDefaultResource);
}

TEST(PoolRulesTest, ALocalPoolCanHaveMemorySlices) {
  const auto config = ParsePools(
      "- {devices: {index: [0]}, provider: local, share: {by: memory, size: 4Gi}}\n"
      "- {devices: {index: [1]}, provider: local}\n"
      "- {devices: {index: [2]}, share: {by: memory, size: 4Gi}}\n");
  ASSERT_OK(config);
  EXPECT_EQ(ResourceOf(config->pools[0]), kDefaultLocalSlices);
  EXPECT_EQ(ResourceOf(config->pools[1]), kDefaultLocalPool);
  EXPECT_EQ(ResourceOf(config->pools[2]), kDefaultSlices);
  EXPECT_THAT(ParsePools("- {provider: local, resource: example.com/x,\n"
                         "   share: {by: memory, layout: [4Gi, 8Gi]}}\n"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("the layout has several sizes")));
}

TEST(PoolRulesTest, PrintsTheProviderOfALocalPoolOnly) {
  const auto config = ParsePools("- {devices: {index: [0]}, provider: local}\n- devices: all\n");
  ASSERT_OK(config);
  const std::string text = PrintNodeConfig(*config);
  EXPECT_THAT(text, HasSubstr("provider: local"));
  EXPECT_EQ(text.find("kubelet\n"), std::string::npos);
  const auto again = ParseNodeConfig(text, "again.yaml");
  ASSERT_OK(again);
  EXPECT_EQ(*again, *config);
}

struct RefusedPools {
  std::string_view pools;
  std::string_view error;
};

TEST(PoolRulesTest, RefusesWhatALocalPoolCannotDo) {
  constexpr RefusedPools kRefused[] = {
      {"- provider: pod\n", "n.yaml:4:13: pools[0].provider: \"pod\""},
      {"- {provider: local, share: {by: time, replicas: 2}}\n",
       "pools[0].share: a pool with provider: local lends whole GPUs or memory slices: set by: "
       "memory"},
      {"- provider: local\n  mig: mixed\n", "n.yaml:5:3: pools[0].mig: a pool with provider"},
      {"- {provider: local, share: {by: memory, size: 4Gi, compute: 25}}\n",
       "pools[0].share.compute: the agent tells pods apart"},
      {"- {provider: local, devices: {mig: [1g.10gb]}}\n", "pools[0].devices: a pool"},
      {"- devices: {index: [0]}\n- {resource: nvidia.com/gpu, provider: local}\n",
       "pools[1].resource: pools[0] has the name nvidia.com/gpu too, with another provider"},
  };
  for (const RefusedPools& refused : kRefused) {
    EXPECT_THAT(ParsePools(refused.pools),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr(refused.error)))
        << refused.pools;
  }
}

TEST(PoolRulesTest, MigNoneIsWhatALocalPoolDoesAnyway) {
  EXPECT_OK(ParsePools("- {provider: local, mig: none}\n"));
}

}  // namespace
}  // namespace kgpu::config
