#include "src/platform/net/dial/endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "testing/status_matchers.h"

namespace kgpu::net {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(EndpointTest, ReadsAddresses) {
  using enum Endpoint::Kind;
  const struct {
    std::string url;
    Endpoint endpoint;
    std::string authority;
  } kCases[] = {{"https://10.0.0.1:6443", {kTls, "10.0.0.1", 6443, ""}, "10.0.0.1:6443"},
                {"https://api.test", {kTls, "api.test", 443, ""}, "api.test:443"},
                {"https://[fd00::1]:6443/", {kTls, "fd00::1", 6443, ""}, "[fd00::1]:6443"},
                {"https://[fd00::1]", {kTls, "fd00::1", 443, ""}, "[fd00::1]:443"},
                {"https://h/k8s/clusters/c-1/", {kTls, "h", 443, "/k8s/clusters/c-1"}, "h:443"},
                {"10.0.0.1:6443", {kTls, "10.0.0.1", 6443, ""}, "10.0.0.1:6443"},
                {"http://127.0.0.1:8001", {kPlain, "127.0.0.1", 8001, ""}, "127.0.0.1:8001"},
                {"http://127.1.2.3", {kPlain, "127.1.2.3", 80, ""}, "127.1.2.3:80"},
                {"http://localhost", {kPlain, "localhost", 80, ""}, "localhost:80"},
                {"http://[::1]:8001", {kPlain, "::1", 8001, ""}, "[::1]:8001"},
                {"unix:///run/p.sock", {kUnix, "/run/p.sock", 0, ""}, "localhost"}};
  for (const auto& c : kCases) {
    const auto endpoint = Endpoint::Parse(c.url);
    ASSERT_OK(endpoint) << c.url;
    EXPECT_EQ(*endpoint, c.endpoint) << c.url;
    EXPECT_EQ(endpoint->authority(), c.authority);
  }
  EXPECT_EQ(Endpoint::Parse("https://[::1]:1/p").value().str(), "https://[::1]:1/p");
}

TEST(EndpointTest, RefusesWhatIsNoAddress) {
  for (const std::string url :
       {"", "https://", "https://:1", "https://h:0", "https://h:65536", "https://h:x", "ftp://h",
        "https://[::1", "https://[::1]x", "https://a b", "https://h/a?b", "unix://run/x",
        "https://h/\n", "https://u:secret@h"}) {
    EXPECT_THAT(Endpoint::Parse(url),
                StatusIs(StatusCode::kInvalidArgument, Not(HasSubstr("secret"))))
        << url;
  }
}

TEST(EndpointTest, SendsNoCredentialsInPlainToOthers) {
  for (const std::string url :
       {"http://10.0.0.1:8080", "http://api.test", "http://128.0.0.1", "http://127.evil.test:80",
        "http://127.0.0.1.evil.test", "http://127.1", "http://127.0.0.1.", "http://127.0.0.256",
        "http://localhost.evil.test", "http://[::2]", "http://[::ffff:10.0.0.1]"}) {
    EXPECT_THAT(Endpoint::Parse(url),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("use https://")))
        << url;
  }
}

}  // namespace
}  // namespace kgpu::net
