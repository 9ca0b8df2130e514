#include "src/platform/net/dial/route.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "src/platform/net/http/server.h"
#include "src/platform/sys/tcp_socket.h"
#include "testing/fake_loop.h"
#include "testing/run_until.h"
#include "testing/status_matchers.h"
#include "testing/tls/certificates.h"

namespace kgpu::net {
namespace {

using ::testing::HasSubstr;

class RouteTest : public ::testing::Test {
 protected:
  StatusOr<http::Response> Ask(const http::Route& route) {
    std::optional<StatusOr<http::Response>> result;
    const auto call =
        http::Call::Start(loop_, route, {.target = "/a"},
                          [&](StatusOr<http::Response> response) { result = std::move(response); });
    EXPECT_TRUE(RunUntil(loop_, [&] { return result.has_value(); }));
    return result.value_or(Internal("no result"));
  }
  Endpoint EndpointOf(const std::string& address) const {
    return Endpoint::Parse("https://" + address).value();
  }

  FakeLoop loop_;
  http::Server server_{
      loop_, [](const http::Request& request, const http::Responder& responder) {
        responder.Send(http::TextResponse(
            200, fmt::format("{} {}", request.headers.Find("Host").value_or(""), request.has_tls)));
      }};
};

TEST_F(RouteTest, LeadsToAServerWithoutTls) {
  const std::string address = server_.Listen("127.0.0.1:0").value();
  const auto response = Ask(RouteTo(EndpointOf(address)));
  ASSERT_OK(response);
  EXPECT_EQ(response->body, address + " false\n");
}

TEST_F(RouteTest, LeadsToAServerWithTlsThatIsVerified) {
  const TestAuthority authority;
  const TestCertificate leaf = authority.Issue({.names = {"127.0.0.1"}});
  const auto context =
      tls::Context::ForServer({.certificate_pem = leaf.certificate_pem, .key_pem = leaf.key_pem})
          .value();
  const std::string address = server_.ListenTls("127.0.0.1:0", [&] { return context; }).value();
  const auto trust = tls::Context::ForClient({.ca_pem = authority.certificate_pem()}).value();
  const auto response = Ask(RouteTo(EndpointOf(address), trust));
  ASSERT_OK(response);
  EXPECT_EQ(response->body, address + " true\n");
  const TestAuthority other;
  EXPECT_FALSE(Ask(RouteTo(EndpointOf(address),
                           tls::Context::ForClient({.ca_pem = other.certificate_pem()}).value()))
                   .ok());
}

TEST_F(RouteTest, AnErrorOfTheConnectionIsOneOfTheCall) {
  std::string address;
  {
    const auto listener =
        sys::TcpListener::Listen(sys::TcpAddress::Parse("127.0.0.1:0").value()).value();
    address = listener.address();
  }
  EXPECT_THAT(Ask(RouteTo(EndpointOf(address))),
              StatusIs(StatusCode::kUnavailable, HasSubstr("connection refused")));
  EXPECT_EQ(loop_.watches(), 0U);
  EXPECT_EQ(loop_.timers(), 0U);
}

}  // namespace
}  // namespace kgpu::net
