#include "src/cli/fn/gateway_cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace kgpu::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

TEST(GatewayClusterTest, ReadsTheResourcesOfPools) {
  GatewayClusterOptions options;
  options.model_resources = {"A100-SXM4-80GB=nvidia.com/a100"};
  options.memory_resources = {"20Gi=nvidia.com/gpu-20gi", "40Gi=nvidia.com/gpu-40gi"};
  const auto deployer = DeployerOptionsOf(options);
  ASSERT_OK(deployer);
  EXPECT_THAT(deployer->model_resources, ElementsAre(Pair("A100-SXM4-80GB", "nvidia.com/a100")));
  EXPECT_THAT(deployer->memory_resources,
              ElementsAre(Pair(int64_t{20} << 30, "nvidia.com/gpu-20gi"),
                          Pair(int64_t{40} << 30, "nvidia.com/gpu-40gi")));
}

TEST(GatewayClusterTest, SaysWhatIsWrongWithAResource) {
  for (const char* text :
       {"", "A100", "=nvidia.com/a", "A100=", "A100=a100", "A100=/a", "A100=n/"}) {
    GatewayClusterOptions options;
    options.model_resources = {text};
    EXPECT_THAT(DeployerOptionsOf(options),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("--model-resource")))
        << text;
  }
  GatewayClusterOptions options;
  options.memory_resources = {"much=nvidia.com/gpu-20gi"};
  EXPECT_THAT(DeployerOptionsOf(options),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("--memory-resource")));
}

}  // namespace
}  // namespace kgpu::cli
