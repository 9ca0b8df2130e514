#include "src/kube/api/http_transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/platform/net/http/server.h"
#include "testing/fake_loop.h"
#include "testing/run_until.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"
#include "testing/tls/certificates.h"
#include "testing/tls/tls_front.h"

namespace kgpu::kube {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::HasSubstr;

// An exchange and what came of it.
struct Asked {
  std::unique_ptr<Exchange> exchange;
  int code = 0;
  http::Headers headers;
  std::string body;
  std::optional<Status> end;

  Status Result() const { return end.value_or(Internal("no end")); }
};

class HttpTransportTest : public ::testing::Test {
 protected:
  HttpTransportTest() {
    EXPECT_OK(server_.Listen(dir_.At("s")));
    ServeAs({.names = {"127.0.0.1", "::1", "localhost"}});
    trust_ = {.context = tls::Context::ForClient({.ca_pem = authority_.certificate_pem()}).value(),
              .generation = 1};
  }

  void ServeAs(const LeafOptions& leaf, const std::string& address = "127.0.0.1:0") {
    const TestCertificate certificate = authority_.Issue(leaf);
    front_ =
        TlsFront::Listen(loop_, address,
                         tls::Context::ForServer({.certificate_pem = certificate.certificate_pem,
                                                  .key_pem = certificate.key_pem})
                             .value(),
                         dir_.At("s"))
            .value();
  }
  HttpTransport& transport() {
    if (transport_ == nullptr) {
      if (options_.endpoint.host.empty()) {
        options_.endpoint = net::Endpoint::Parse("https://" + front_->address()).value();
      }
      transport_ = std::make_unique<HttpTransport>(loop_, options_,
                                                   [this]() -> StatusOr<Trust> { return trust_; });
    }
    return *transport_;
  }
  std::unique_ptr<Asked> Ask(const http::Request& request) {
    auto asked = std::make_unique<Asked>();
    asked->exchange = transport().Start(
        request, {.on_head =
                      [to = asked.get()](int code, const http::Headers& headers) {
                        to->code = code;
                        to->headers = headers;
                      },
                  .on_data = [to = asked.get()](std::string_view bytes) { to->body += bytes; },
                  .on_end = [to = asked.get()](const Status& status) { to->end = status; }});
    EXPECT_FALSE(asked->end.has_value());
    return asked;
  }
  bool Finish(Asked& asked) {
    return RunUntil(loop_, [&] { return asked.end.has_value(); });
  }
  Status Fetch(const http::Request& request) {
    const auto asked = Ask(request);
    EXPECT_TRUE(Finish(*asked));
    body_ = asked->body;
    code_ = asked->code;
    return asked->Result();
  }
  void Serve(const http::Request& request, const http::Responder& responder) {
    if (request.path == "/watch") {
      stream_ = responder.Begin({.body = "first\n"});
      return;
    }
    if (request.path == "/close") {
      return responder.Send({.code = 200, .headers = {{"Connection", "close"}}, .body = "bye"});
    }
    responder.Send(http::TextResponse(
        200, fmt::format("{} {} {} {}", request.method, request.target, request.body.size(),
                         request.headers.Find("Host").value_or("-"))));
  }

  TempDir dir_;
  FakeLoop loop_;
  const TestAuthority authority_;
  std::optional<http::Stream> stream_;
  http::Server server_{loop_,
                       [this](const http::Request& request, const http::Responder& responder) {
                         Serve(request, responder);
                       }};
  std::unique_ptr<TlsFront> front_;
  Trust trust_;
  HttpTransportOptions options_;
  std::unique_ptr<HttpTransport> transport_;
  std::string body_;
  int code_ = 0;
};

TEST_F(HttpTransportTest, AsksOverTls) {
  ASSERT_OK(Fetch({.method = "POST", .target = "/a?b=c", .body = "12345"}));
  EXPECT_EQ(code_, 200);
  EXPECT_EQ(body_, fmt::format("POST /a?b=c 5 {}\n", front_->address()));
}

TEST_F(HttpTransportTest, AsksOverTlsAndIpv6) {
  if (!sys::TcpListener::Listen(sys::TcpAddress::Parse("[::1]:0").value()).ok()) {
    GTEST_SKIP() << "no IPv6 here";
  }
  ServeAs({.names = {"::1"}}, "[::1]:0");
  EXPECT_OK(Fetch({.target = "/a"}));
}

TEST_F(HttpTransportTest, AsksOverAUnixSocketWithoutTls) {
  options_.endpoint = {
      .kind = net::Endpoint::Kind::kUnix, .host = dir_.At("s"), .prefix = "/proxy"};
  ASSERT_OK(Fetch({.target = "/a"}));
  EXPECT_EQ(body_, "GET /proxy/a 0 localhost\n");
}

TEST_F(HttpTransportTest, ASocketThatIsNotThereMayComeYet) {
  options_.endpoint = {.kind = net::Endpoint::Kind::kUnix, .host = dir_.At("none")};
  EXPECT_THAT(Fetch({.target = "/a"}), StatusIs(StatusCode::kUnavailable, HasSubstr("none")));
}

TEST_F(HttpTransportTest, UsesAConnectionAgain) {
  for (int i = 0; i < 5; ++i) {
    ASSERT_OK(Fetch({.target = "/a"}));
  }
  EXPECT_EQ(front_->accepted(), 1U);
  EXPECT_EQ(transport().idle_connections(), 1U);
}

TEST_F(HttpTransportTest, AHandlerMayAskAgainOnTheSameConnection) {
  std::unique_ptr<Exchange> first;
  std::unique_ptr<Asked> second;
  first = transport().Start({.target = "/a"}, {.on_end = [&](const Status& status) {
                              EXPECT_OK(status);
                              second = Ask({.target = "/b"});
                              first.reset();
                            }});
  ASSERT_TRUE(RunUntil(loop_, [&] { return second != nullptr && second->end.has_value(); }));
  EXPECT_OK(second->Result());
  EXPECT_EQ(front_->accepted(), 1U);
}

TEST_F(HttpTransportTest, ClosesWhatIsIdle) {
  ASSERT_OK(Fetch({.target = "/a"}));
  loop_.Advance(milliseconds(59'999));
  EXPECT_EQ(transport().idle_connections(), 1U);
  loop_.Advance(milliseconds(1));
  EXPECT_EQ(transport().idle_connections(), 0U);
  ASSERT_OK(Fetch({.target = "/a"}));
  EXPECT_EQ(front_->accepted(), 2U);
}

TEST_F(HttpTransportTest, KeepsOnlyAFew) {
  std::vector<std::unique_ptr<Asked>> asked;
  for (int i = 0; i < 5; ++i) {
    asked.push_back(Ask({.target = "/a"}));
  }
  for (const auto& each : asked) {
    ASSERT_TRUE(Finish(*each));
    EXPECT_OK(each->Result());
  }
  EXPECT_EQ(front_->accepted(), 5U);
  EXPECT_EQ(transport().idle_connections(), 2U);
}

TEST_F(HttpTransportTest, OpensOnlySoManyAndLetsOthersWait) {
  options_.max_connections = 2;
  std::vector<std::unique_ptr<Asked>> asked;
  for (int i = 0; i < 6; ++i) {
    asked.push_back(Ask({.target = "/a"}));
  }
  asked[3].reset();  // given up while it waited
  asked.erase(asked.begin() + 3);
  for (const auto& each : asked) {
    ASSERT_TRUE(Finish(*each));
    EXPECT_OK(each->Result());
  }
  EXPECT_EQ(front_->accepted(), 2U);
}

TEST_F(HttpTransportTest, DoesNotUseAConnectionThatTheServerEnded) {
  ASSERT_OK(Fetch({.target = "/a"}));
  front_->CloseConnections();
  EXPECT_TRUE(RunUntil(loop_, [&] { return transport().idle_connections() == 0; }));
  ASSERT_OK(Fetch({.target = "/a"}));
  EXPECT_EQ(front_->accepted(), 2U);
}

TEST_F(HttpTransportTest, BringsAStreamAsItComes) {
  const auto watch = Ask({.target = "/watch"});
  ASSERT_TRUE(RunUntil(loop_, [&] { return watch->body == "first\n"; }));
  EXPECT_EQ(watch->code, 200);
  const std::string large(300'000, 'x');
  ASSERT_TRUE(stream_.has_value());
  ASSERT_TRUE(stream_->Write(large));
  ASSERT_TRUE(RunUntil(loop_, [&] { return watch->body.size() == 6 + large.size(); }));
  // Others are not in its way.
  EXPECT_OK(Fetch({.target = "/a"}));
  EXPECT_FALSE(watch->end.has_value());
  ASSERT_TRUE(stream_.has_value());
  stream_->End();
  ASSERT_TRUE(Finish(*watch));
  EXPECT_OK(watch->Result());
}

TEST_F(HttpTransportTest, SaysThatAStreamWasCut) {
  const auto watch = Ask({.target = "/watch"});
  ASSERT_TRUE(RunUntil(loop_, [&] { return !watch->body.empty(); }));
  front_->CloseConnections();
  ASSERT_TRUE(Finish(*watch));
  EXPECT_THAT(watch->Result(), StatusIs(StatusCode::kUnavailable, HasSubstr("before the end")));
}

TEST_F(HttpTransportTest, AnExchangeGivenUpClosesItsConnection) {
  auto watch = Ask({.target = "/watch"});
  ASSERT_TRUE(RunUntil(loop_, [&] { return !watch->body.empty(); }));
  watch.reset();
  EXPECT_TRUE(RunUntil(loop_, [&] { return front_->connections() == 0; }));
  EXPECT_EQ(transport().idle_connections(), 0U);
}

TEST_F(HttpTransportTest, AHandlerMayGiveItsExchangeUp) {
  std::unique_ptr<Exchange> exchange;
  bool is_over = false;
  exchange = transport().Start({.target = "/watch"}, {.on_data =
                                                          [&](std::string_view) {
                                                            exchange.reset();
                                                            is_over = true;
                                                          },
                                                      .on_end = [](const Status&) { FAIL(); }});
  EXPECT_TRUE(RunUntil(loop_, [&] { return is_over && front_->connections() == 0; }));
}

TEST_F(HttpTransportTest, SaysWhatIsWrongWithACertificate) {
  ServeAs({.names = {"other.test"}});
  EXPECT_THAT(Fetch({.target = "/a"}),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("https://" + front_->address()),
                             HasSubstr("not for 127.0.0.1, but for other.test"))));
  options_.server_name = "other.test";
  transport_.reset();
  EXPECT_OK(Fetch({.target = "/a"}));
}

TEST_F(HttpTransportTest, SaysThatTheServerSpeaksNoTls) {
  const auto plain = server_.Listen("127.0.0.1:0");
  ASSERT_OK(plain);
  options_.endpoint = net::Endpoint::Parse("https://" + *plain).value();
  EXPECT_THAT(Fetch({.target = "/a"}), StatusIs(StatusCode::kUnavailable, HasSubstr("plain HTTP")));
}

TEST_F(HttpTransportTest, OldConnectionsAreNotUsedWithNewCertificates) {
  ASSERT_OK(Fetch({.target = "/a"}));
  trust_.generation = 2;
  ASSERT_OK(Fetch({.target = "/a"}));
  EXPECT_EQ(front_->accepted(), 2U);
  const TestAuthority other;
  trust_ = {.context = tls::Context::ForClient({.ca_pem = other.certificate_pem()}).value(),
            .generation = 3};
  EXPECT_THAT(Fetch({.target = "/a"}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("untrusted authority")));
}

TEST_F(HttpTransportTest, RefusesRequestsThatCannotBe) {
  EXPECT_THAT(Fetch({.target = "/a b"}), StatusIs(StatusCode::kInvalidArgument));
}

TEST_F(HttpTransportTest, ASendThatTheServerDoesNotTakeAtOnceGoesOn) {
  ASSERT_OK(Fetch({.method = "POST", .target = "/a", .body = std::string(900'000, 'x')}));
  EXPECT_THAT(body_, HasSubstr("POST /a 900000"));
}

}  // namespace
}  // namespace kgpu::kube
