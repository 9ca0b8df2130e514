#include "src/cluster/install/gateway_tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "src/cluster/install/test_install.h"
#include "src/platform/base/base64.h"
#include "testing/status_matchers.h"

namespace kgpu::install {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(GatewayTokensTest, AreMadeOnceAndLeaveWithTheInstallation) {
  TestInstallation cluster;
  ASSERT_OK(cluster.DoInstall());
  EXPECT_THAT(EnsureGatewayTokens(cluster.client, "kgpu"), IsOkAndHolds(true));
  const auto secret =
      cluster.client.Send({.path = "/api/v1/namespaces/kgpu/secrets/kgpu-gateway-tokens"});
  ASSERT_OK(secret);
  const auto text = [&](const char* key) {
    return DecodeBase64(kube::TextField(*secret, {"data", key})).value_or("");
  };
  EXPECT_EQ(text("admin-token").size(), 64U);
  EXPECT_NE(text("admin-token"), text("metrics-token"));
  EXPECT_THAT(text("tokens"), AllOf(HasSubstr("\n" + text("admin-token") + " admin\n"),
                                    HasSubstr("\n" + text("metrics-token") + " read\n")));
  EXPECT_THAT(EnsureGatewayTokens(cluster.client, "kgpu"), IsOkAndHolds(false));
  EXPECT_EQ(cluster.client.Send({.path = "/api/v1/namespaces/kgpu/secrets/kgpu-gateway-tokens"}),
            secret);
  EXPECT_TRUE(IsOurs(*secret));
}

TEST(GatewayTokensTest, AnErrorNamesTheSecret) {
  TestInstallation cluster;
  EXPECT_THAT(EnsureGatewayTokens(cluster.client, "none"),
              StatusIs(StatusCode::kNotFound, HasSubstr("Secret none/kgpu-gateway-tokens")));
}

}  // namespace
}  // namespace kgpu::install
