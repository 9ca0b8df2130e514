#include "src/container/engine/proxies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace kgpu::engine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(ProxiesTest, BecomeADropInOfTheUnit) {
  const TextFile file = ProxyDropIn(
      "docker.service",
      {.http = "http://p:3128", .https = "http://u:a%40b@p:3128", .none = "localhost,.example"});

  EXPECT_EQ(file.path, "/etc/systemd/system/docker.service.d/kgpu-proxy.conf");
  EXPECT_THAT(file.text, HasSubstr("[Service]\n"
                                   "Environment=\"HTTP_PROXY=http://p:3128\"\n"
                                   "Environment=\"HTTPS_PROXY=http://u:a%%40b@p:3128\"\n"
                                   "Environment=\"NO_PROXY=localhost,.example\"\n"));
}

TEST(ProxiesTest, LeaveOutWhatIsNotGiven) {
  EXPECT_THAT(ProxyDropIn("docker.service", {.http = "http://p", .https = "", .none = ""}).text,
              ::testing::Not(HasSubstr("HTTPS")));
}

TEST(ProxiesTest, RefuseWhatSystemdWouldReadOtherwise) {
  EXPECT_OK(CheckProxies({.http = "http://p", .https = "socks5://p", .none = "*.example,::1"}));
  EXPECT_THAT(CheckProxies({.http = "p:3128", .https = "", .none = ""}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("--http-proxy: \"p:3128\"")));
  for (const char* bad : {"a b", "a\"", "a\\", "a\nExecStart=/bin/sh"}) {
    EXPECT_THAT(CheckProxies({.http = "", .https = "", .none = bad}),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("--no-proxy")))
        << bad;
  }
}

TEST(ProxiesTest, KnowWhetherTheyHoldASecret) {
  EXPECT_TRUE((Proxies{.http = "http://user:word@p", .https = "", .none = ""}).HasSecret());
  EXPECT_FALSE((Proxies{.http = "http://p", .https = "", .none = "a@b"}).HasSecret());
}

TEST(ProxiesTest, NamePasswordsInNoError) {
  for (const char* bad : {"user:word@p:3128", "http://user:word@p 3128"}) {
    const Status status = CheckProxies({.http = bad, .https = "", .none = ""});
    EXPECT_THAT(Message(status), AllOf(HasSubstr("--http-proxy"), HasSubstr("@p"))) << bad;
    EXPECT_THAT(Message(status), Not(HasSubstr("word"))) << bad;
  }
}

}  // namespace
}  // namespace kgpu::engine
