#include "src/cli/cluster/cluster_functions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/cluster/chart/chart.h"
#include "testing/status_matchers.h"

namespace kgpu::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ClusterFunctionsTest, TheFlagBringsAGatewayWithTokensOfItsOwn) {
  chart::ValuesRequest request;
  const auto values = ReadValuesWithFunctions(true, request);
  ASSERT_OK(values);
  EXPECT_THAT(request.settings,
              ElementsAre("functions.enabled=true", "functions.tokensSecret=kgpu-gateway-tokens"));
  EXPECT_TRUE(HasOwnTokens(*values));
  EXPECT_OK(chart::Render(*values));
}

TEST(ClusterFunctionsTest, OtherTokensAndNoneStay) {
  for (const char* setting : {"functions.tokensSecret=mine", "functions.allowAnonymous=true"}) {
    chart::ValuesRequest request{.settings = {"functions.enabled=true", setting}};
    const auto values = ReadValuesWithFunctions(false, request);
    ASSERT_OK(values);
    EXPECT_FALSE(HasOwnTokens(*values));
    EXPECT_THAT(request.settings, ElementsAre("functions.enabled=true", setting));
  }
}

TEST(ClusterFunctionsTest, WithoutFunctionsNothingIsAdded) {
  chart::ValuesRequest request;
  const auto values = ReadValuesWithFunctions(false, request);
  ASSERT_OK(values);
  EXPECT_FALSE(HasOwnTokens(*values));
  EXPECT_THAT(request.settings, IsEmpty());
}

}  // namespace
}  // namespace kgpu::cli
