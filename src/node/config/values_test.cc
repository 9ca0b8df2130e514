#include "src/node/config/values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace kgpu::config {
namespace {

using ::testing::HasSubstr;

TEST(ValuesTest, HttpAddressesAreIpAddressesWithPorts) {
  for (const char* good : {"", "127.0.0.1:9401", "0.0.0.0:0", "[::1]:9401", ":9401"}) {
    EXPECT_OK(CheckHttpAddress(good)) << good;
  }
  for (const char* bad : {"9401", "localhost:9401", "127.0.0.1", "127.0.0.1:", "::1:9401",
                          "1.2.3:80", ":65536", "[127.0.0.1]:80", "http://1.2.3.4:80"}) {
    EXPECT_THAT(CheckHttpAddress(bad),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("127.0.0.1:9401")))
        << bad;
  }
}

TEST(ValuesTest, CapabilitiesAreKnownWords) {
  EXPECT_OK(CheckCapabilities("compute,utility"));
  EXPECT_OK(CheckCapabilities("all"));
  EXPECT_THAT(CheckCapabilities("compute,utilty"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("did you mean \"utility\"?")));
  EXPECT_THAT(CheckCapabilities(""), StatusIs(StatusCode::kInvalidArgument));
}

TEST(ValuesTest, AnAnnotationPrefixIsADomainAndASlash) {
  EXPECT_OK(CheckAnnotationPrefix("cdi.k8s.io/"));
  for (const char* bad : {"", "cdi.k8s.io", "/", "CDI/", "a/b/", "cdi.k8s.io/x"}) {
    EXPECT_THAT(CheckAnnotationPrefix(bad),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("cdi.k8s.io/")))
        << bad;
  }
}

}  // namespace
}  // namespace kgpu::config
