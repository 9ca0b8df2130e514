#include "src/functions/gateway/gateway.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/functions/gateway/endpoints.h"
#include "src/platform/net/http/client.h"
#include "src/platform/net/http/client_connection.h"
#include "src/platform/net/http/writer.h"
#include "src/platform/sys/tcp_socket.h"
#include "src/platform/sys/unix_socket.h"
#include "testing/fake_loop.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::gateway {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr size_t kMegabyte = size_t{1} << 20;

// A gateway before a service that the test plays.
class GatewayTest : public ::testing::Test {
 protected:
  GatewayTest() { Run(); }
  void TearDown() override {
    calls_.clear();
    endpoints_.reset();
  }

  void Run(const std::string& tokens = "") {
    endpoints_.reset();
    gateway_.reset();
    std::unique_ptr<Tokens> checked;
    if (!tokens.empty()) {
      dir_.WriteFile("tokens", tokens);
      checked = Tokens::Open(root_, loop_.clock(), "tokens").value();
    }
    gateway_.emplace(loop_, std::move(checked),
                     GatewayOptions{.version = "1.0", .upstream = {.socket = dir_.At("service")}});
    endpoints_.emplace(loop_, *gateway_);
    address_ = endpoints_->Listen("127.0.0.1:0", nullptr).value();
  }
  void Serve() {
    service_.emplace(loop_, [this](const http::Request& request, const http::Responder& responder) {
      got_ = request;
      ++requests_;
      if (handler_) {
        return handler_(responder);
      }
      responder.Send(http::TextResponse(200, "hello"));
    });
    ASSERT_OK(service_->Listen(dir_.At("service")));
  }
  // A request whose answer comes to `answer`.
  void Begin(const http::Request& request, std::optional<StatusOr<http::Response>>& answer) {
    calls_.push_back(http::Call::Start(
        loop_, address_, request,
        [&answer](StatusOr<http::Response> response) { answer = std::move(response); },
        {.timeout = std::chrono::hours(1), .max_body = 64 * kMegabyte}));
  }
  StatusOr<http::Response> Ask(const http::Request& request) {
    std::optional<StatusOr<http::Response>> answer;
    Begin(request, answer);
    Settle([&] { return answer.has_value(); });
    return answer.value_or(Internal("no answer"));
  }
  int CodeOf(const http::Request& request) {
    const auto answer = Ask(request);
    return answer.ok() ? answer->code : -1;
  }
  // TCP takes a moment, in which no time passes for the gateway.
  template <typename Until>
  void Settle(const Until& until) {
    loop_.RunUntilIdle();
    while (!until() && loop_.WaitForDescriptor(seconds(10))) {
    }
  }

  TempDir dir_;
  const sys::Root root_ = sys::Root::Open(dir_.path()).value();
  FakeLoop loop_;
  std::optional<http::Server> service_;
  std::function<void(const http::Responder&)> handler_;
  http::Request got_;
  int requests_ = 0;
  std::optional<Gateway> gateway_;
  std::optional<Endpoints> endpoints_;
  std::string address_;
  std::vector<std::unique_ptr<http::Call>> calls_;
};

TEST_F(GatewayTest, PassesARequestAndItsAnswerOn) {
  Serve();
  handler_ = [](const http::Responder& responder) {
    http::Response response{.code = 418, .body = std::string("\0\xff", 2)};
    response.headers = {{"X-Call-Id", "mine"}, {"Kgpu-Fault", "handler"}, {"Keep-Alive", "1"}};
    responder.Send(std::move(response));
  };
  http::Request request{.method = "PATCH", .target = "/function/hello/a%20b?c=d%2F"};
  request.headers = {{"traceparent", "00-1-2-01"},
                     {"tracestate", "a=1,b@c=2"},
                     {"X-Call-Id", "mine"},
                     {"Keep-Alive", "9"},
                     {"TE", "trailers"},
                     {"Kgpu-Fault", "crash"},
                     {"X-Forwarded-For", "10.1.1.1"},
                     {"Authorization", "Basic x"},
                     {"X-Forwarded-Proto", "https"}};
  request.body = std::string("\xfe\0", 2);
  const auto answer = Ask(request);
  ASSERT_OK(answer);
  EXPECT_EQ(got_.method, "PATCH");
  EXPECT_EQ(got_.target, "/function/hello/a%20b?c=d%2F");
  EXPECT_EQ(got_.body, request.body);
  EXPECT_EQ(got_.headers.Find("traceparent"), "00-1-2-01");
  EXPECT_EQ(got_.headers.Find("tracestate"), "a=1,b@c=2");
  EXPECT_EQ(got_.headers.Find("Keep-Alive"), std::nullopt);
  EXPECT_EQ(got_.headers.Find("TE"), std::nullopt);
  EXPECT_EQ(got_.headers.Find("Kgpu-Fault"), std::nullopt);
  EXPECT_EQ(got_.headers.Find("X-Forwarded-For"), "10.1.1.1, 127.0.0.1");
  EXPECT_EQ(got_.headers.Find("X-Forwarded-Proto"), "http");
  EXPECT_EQ(got_.headers.Count("X-Forwarded-Proto"), 1U);
  EXPECT_EQ(got_.headers.Find("Authorization"), "Basic x") << "a handler may want it";
  EXPECT_EQ(answer->code, 418);
  EXPECT_EQ(answer->body, std::string("\0\xff", 2));
  EXPECT_EQ(answer->headers.Find("X-Call-Id"), "mine");
  EXPECT_EQ(answer->headers.Find("Kgpu-Fault"), "handler");
  EXPECT_EQ(answer->headers.Find("Content-Length"), "2");
  EXPECT_EQ(answer->headers.Find("Keep-Alive"), std::nullopt);
}

TEST_F(GatewayTest, AnswersAppearPieceByPiece) {
  Serve();
  std::optional<http::Stream> stream;
  handler_ = [&](const http::Responder& responder) { stream = responder.Begin({.body = "one "}); };
  const auto tcp = sys::TcpAddress::Parse(address_).value();
  const auto caller =
      http::ClientConnection::Open(loop_, sys::StartConnectTcp(tcp).value(), nullptr, address_, {})
          .value();
  std::string text;
  std::optional<Status> ended;
  caller->Send(http::RequestText({.target = "/function/hello"}, "localhost").value(), false,
               {.on_data = [&](std::string_view bytes) { text += bytes; },
                .on_end = [&](const Status& status) { ended = status; }});
  Settle([&] { return text == "one "; });
  EXPECT_EQ(text, "one ");
  EXPECT_TRUE(gateway_->is_busy());
  ASSERT_TRUE(stream->Write("two"));
  Settle([&] { return text == "one two"; });
  EXPECT_EQ(text, "one two");
  EXPECT_FALSE(ended.has_value());
  stream->End();
  Settle([&] { return ended.has_value(); });
  EXPECT_OK(ended.value_or(Internal("no end")));
  EXPECT_FALSE(gateway_->is_busy());
}

TEST_F(GatewayTest, ABrowserFindsLinksAndNothingElse) {
  Serve();
  const auto answer = Ask({.target = "/"});
  ASSERT_OK(answer);
  EXPECT_EQ(answer->code, 200);
  EXPECT_THAT(answer->body, HasSubstr(R"(<a href="openapi.json">)"));
  EXPECT_EQ(CodeOf({.method = "POST", .target = "/"}), 404);
  EXPECT_EQ(requests_, 0) << "the service is not asked";
}

TEST_F(GatewayTest, RefusesPathsAndMethodsThatItDoesNotHave) {
  Serve();
  EXPECT_EQ(CodeOf({.target = "/nothing"}), 404);
  EXPECT_EQ(CodeOf({.method = "POST", .target = "/v1/stop"}), 404) << "the service has it";
  const auto answer = Ask({.method = "DELETE", .target = "/system/functions"});
  ASSERT_OK(answer);
  EXPECT_EQ(answer->code, 405);
  EXPECT_EQ(answer->headers.Find("Allow"), "GET, POST, PUT");
  EXPECT_THAT(answer->body, HasSubstr(R"("message":"DELETE: use GET, POST, PUT")"));
  EXPECT_EQ(requests_, 0);
}

TEST_F(GatewayTest, AHostThatIsNoneIsRefusedWhateverTheTokens) {
  Serve();
  const http::Request request{.target = "/function/hello", .headers = {{"Host", "a b/c"}}};
  EXPECT_EQ(CodeOf(request), 400);
  Run("token-0123456789abcdef call\n");
  EXPECT_EQ(CodeOf(request), 400);
  EXPECT_EQ(requests_, 0);
}

TEST_F(GatewayTest, OptionsThatAreNoPreflightReachTheFunction) {
  Serve();
  handler_ = [](const http::Responder& responder) {
    responder.Send({.code = 204, .headers = {{"Allow", "GET, POST"}}});
  };
  const http::Request request{.method = "OPTIONS", .target = "/function/hello"};
  const auto answer = Ask(request);
  ASSERT_OK(answer);
  EXPECT_EQ(answer->code, 204);
  EXPECT_EQ(answer->headers.Find("Allow"), "GET, POST");
  EXPECT_EQ(got_.method, "OPTIONS");
  EXPECT_EQ(CodeOf({.method = "OPTIONS", .target = "/async-function/hello"}), 405);
  EXPECT_EQ(CodeOf({.method = "OPTIONS", .target = "/system/functions"}), 405);
  Run("token-0123456789abcdef call\n");
  EXPECT_EQ(CodeOf(request), 401);
}

TEST_F(GatewayTest, AFunctionMayNarrowTheOriginsThatReadItsAnswers) {
  Serve();
  Run("token-0123456789abcdef call\n");
  handler_ = [](const http::Responder& responder) {
    responder.Send({.headers = {{"Access-Control-Allow-Origin", "https://a.example"}}});
  };
  const auto answer = Ask({.target = "/function/hello",
                           .headers = {{"Origin", "https://a.example"},
                                       {"Authorization", "Bearer token-0123456789abcdef"}}});
  ASSERT_OK(answer);
  EXPECT_EQ(answer->headers.Count("Access-Control-Allow-Origin"), 1U);
  EXPECT_EQ(answer->headers.Find("Access-Control-Allow-Origin"), "https://a.example");
}

TEST_F(GatewayTest, AnswersHeadWithTheLengthThatTheServiceKnows) {
  Serve();
  const auto answer = Ask({.method = "HEAD", .target = "/function/hello"});
  ASSERT_OK(answer);
  EXPECT_EQ(got_.method, "HEAD");
  EXPECT_EQ(answer->headers.Find("Content-Length"), "6") << "hello and a line end";
  EXPECT_EQ(answer->body, "");
}

TEST_F(GatewayTest, PassesSeveralFieldsOfOneNameOn) {
  Serve();
  handler_ = [](const http::Responder& responder) {
    responder.Send({.headers = {{"Set-Cookie", "a=1"}, {"Set-Cookie", "b=2"}}, .body = "x"});
  };
  const auto answer = Ask({.target = "/function/hello"});
  ASSERT_OK(answer);
  EXPECT_EQ(answer->headers.Count("Set-Cookie"), 2U);
}

TEST_F(GatewayTest, RefusesABodyOverTheLimit) {
  Serve();
  http::Request request{.method = "POST", .target = "/function/hello"};
  request.body.assign(kMaxRequestBody, 'x');
  EXPECT_EQ(CodeOf(request), 413) << "the service's own limit in this test";
  EXPECT_EQ(requests_, 0);
  request.body += 'x';
  EXPECT_EQ(CodeOf(request), 413);
}

TEST_F(GatewayTest, SaysThatTheServiceDoesNotRun) {
  std::optional<StatusOr<http::Response>> answer;
  Begin({.target = "/system/functions"}, answer);
  Settle([&] { return gateway_->is_busy(); });
  loop_.Advance(milliseconds(1'200));
  Settle([&] { return answer.has_value(); });
  ASSERT_TRUE(answer.has_value());
  ASSERT_OK(*answer);
  EXPECT_EQ((*answer)->code, 503);
  EXPECT_THAT((*answer)->body, AllOf(HasSubstr(R"("code":14)"), HasSubstr("`kgpu fn up`")));
  EXPECT_EQ((*answer)->headers.Find("Retry-After"), "1");
}

TEST_F(GatewayTest, ACallerSeesThatAnAnswerWasCutOff) {
  Serve();
  std::optional<http::Stream> stream;
  handler_ = [&](const http::Responder& responder) { stream = responder.Begin({.body = "half"}); };
  std::optional<StatusOr<http::Response>> answer;
  Begin({.target = "/function/hello"}, answer);
  Settle([&] { return stream.has_value(); });
  service_->Stop();
  Settle([&] { return answer.has_value(); });
  ASSERT_TRUE(answer.has_value());
  EXPECT_THAT(*answer, StatusIs(StatusCode::kUnavailable, HasSubstr("before the end")));
}

TEST_F(GatewayTest, SaysThatTheServiceEndedBeforeItAnswered) {
  auto listener = sys::UnixListener::Listen(dir_.At("service"), {}).value();
  std::optional<StatusOr<http::Response>> answer;
  Begin({.method = "POST", .target = "/function/hello"}, answer);
  std::optional<UniqueFd> peer;
  Settle([&] {
    auto accepted = listener.Accept();
    if (accepted.ok() && accepted->has_value()) {
      peer = *std::move(*accepted);
    }
    return peer.has_value();
  });
  ASSERT_TRUE(peer.has_value());
  loop_.RunUntilIdle();
  // Half of a small answer, which the caller must not take for a whole one.
  const std::string half = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf";
  std::array<char, 4096> request{};
  EXPECT_GT(recv(peer->get(), request.data(), request.size(), 0), 0);
  EXPECT_EQ(send(peer->get(), half.data(), half.size(), 0), static_cast<ssize_t>(half.size()));
  peer.reset();
  Settle([&] { return answer.has_value(); });
  ASSERT_TRUE(answer.has_value());
  ASSERT_OK(*answer);
  EXPECT_EQ((*answer)->code, 502);
  EXPECT_THAT((*answer)->body, HasSubstr("may have been carried out"));
}

TEST_F(GatewayTest, KeepsTheCallersDeadlineAndPassesItOn) {
  Serve();
  std::vector<http::Responder> waiting;
  handler_ = [&](const http::Responder& responder) { waiting.push_back(responder); };
  std::optional<StatusOr<http::Response>> answer;
  Begin({.target = "/function/hello", .headers = {{"x-deadline-ms", "250"}}}, answer);
  Settle([&] { return !waiting.empty(); });
  EXPECT_EQ(got_.headers.Find("X-Deadline-Ms"), "250");
  loop_.Advance(milliseconds(249));
  EXPECT_FALSE(answer.has_value());
  loop_.Advance(milliseconds(1));
  Settle([&] { return answer.has_value(); });
  ASSERT_OK(*answer);
  EXPECT_EQ((*answer)->code, 504);
  EXPECT_FALSE(gateway_->is_busy());
  for (const char* text : {"", "0", "x", "-1", "1.5", "86400001"}) {
    EXPECT_EQ(CodeOf({.target = "/function/hello", .headers = {{"X-Deadline-Ms", text}}}), 400)
        << text;
  }
}

TEST_F(GatewayTest, EndsARequestWhoseCallerHasLeft) {
  Serve();
  std::vector<http::Responder> waiting;
  handler_ = [&](const http::Responder& responder) { waiting.push_back(responder); };
  const auto tcp = sys::TcpAddress::Parse(address_).value();
  {
    const UniqueFd socket = sys::StartConnectTcp(tcp).value();
    Settle([&] { return sys::ConnectResult(socket, tcp).ok(); });
    const std::string text = "GET /function/hello HTTP/1.1\r\nHost: localhost\r\n\r\n";
    EXPECT_EQ(send(socket.get(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
    Settle([&] { return !waiting.empty(); });
    ASSERT_EQ(waiting.size(), 1U);
    // An end without a word.
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    EXPECT_EQ(setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)), 0);
  }
  while (loop_.WaitForDescriptor(milliseconds(50))) {
  }
  loop_.Advance(seconds(3));
  EXPECT_FALSE(gateway_->is_busy());
}

// A caller that does not read slows the service down: the gateway keeps no more than a part.
TEST_F(GatewayTest, ASlowCallerCostsNoMoreThanAPartOfTheAnswer) {
  Serve();
  std::optional<http::Stream> stream;
  handler_ = [&](const http::Responder& responder) { stream = responder.Begin({}); };
  const auto tcp = sys::TcpAddress::Parse(address_).value();
  const UniqueFd socket = sys::StartConnectTcp(tcp).value();
  Settle([&] { return sys::ConnectResult(socket, tcp).ok(); });
  const std::string text = "GET /function/hello HTTP/1.1\r\nHost: localhost\r\n\r\n";
  EXPECT_EQ(send(socket.get(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  Settle([&] { return stream.has_value(); });
  ASSERT_TRUE(stream.has_value());
  // Written until the service itself is held up.
  const std::string piece(size_t{64} << 10, 'x');
  size_t written = 0;
  while (stream->pending() < 8 * piece.size() && written < 64 * kMegabyte) {
    ASSERT_TRUE(stream->Write(piece));
    written += piece.size();
    loop_.RunUntilIdle();
  }
  ASSERT_LT(written, 64 * kMegabyte) << "everything was taken: nothing slows the service down";
  EXPECT_TRUE(gateway_->is_busy());
  stream->End();
  // The caller reads on, and gets all of it.
  size_t received = 0;
  std::string bytes(size_t{256} << 10, '\0');
  for (int silent = 0; silent < 100 && received < written;) {
    const ssize_t count = recv(socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    silent = count > 0 ? 0 : silent + 1;
    received += count > 0 ? static_cast<size_t>(count) : 0;
    loop_.Advance(milliseconds(100));
  }
  EXPECT_GE(received, written);
  EXPECT_FALSE(gateway_->is_busy());
}

TEST_F(GatewayTest, ServesItsDocument) {
  const auto answer = Ask({.target = "/openapi.json"});
  ASSERT_OK(answer);
  EXPECT_THAT(answer->body, HasSubstr(R"("openapi":"3.0.3")"));
  const auto old = Ask({.target = "/swagger.json"});
  ASSERT_OK(old);
  EXPECT_EQ(old->code, 308);
  EXPECT_EQ(old->headers.Find("Location"), "/openapi.json");
}

TEST_F(GatewayTest, AddsItsMetricsToTheServices) {
  std::optional<StatusOr<http::Response>> first;
  Begin({.target = "/metrics"}, first);
  Settle([&] { return gateway_->is_busy(); });
  loop_.Advance(milliseconds(1'200));
  Settle([&] { return first.has_value(); });
  ASSERT_OK(*first);
  EXPECT_EQ((*first)->code, 200) << "a service that does not run must be seen";
  EXPECT_THAT((*first)->body, HasSubstr("kgpu_gateway_up 0\n"));
  Serve();
  handler_ = [this](const http::Responder& responder) {
    http::Response page = http::TextResponse(200, "service_series 1\n");
    if (got_.headers.Find("Accept")) {
      page = {.headers = {{"Content-Type", "application/openmetrics-text"}},
              .body = "service_series 1\n# EOF\n"};
    }
    responder.Send(std::move(page));
  };
  EXPECT_EQ(CodeOf({.target = "/nothing"}), 404);
  const auto text = Ask({.target = "/metrics"});
  ASSERT_OK(text);
  EXPECT_THAT(
      text->body,
      AllOf(HasSubstr("service_series 1\n# HELP kgpu_gateway_up"), HasSubstr("kgpu_gateway_up 1\n"),
            HasSubstr(R"(kgpu_gateway_requests_total{route="none",protocol="http",code="404"} 1)"),
            HasSubstr(R"(kgpu_gateway_request_seconds_count{route="getMetrics"} 1)"),
            HasSubstr(R"(kgpu_gateway_upstream_errors_total{reason="connect"} 1)"),
            Not(HasSubstr("EOF"))));
  const auto open =
      Ask({.target = "/metrics", .headers = {{"Accept", "application/openmetrics-text"}}});
  ASSERT_OK(open);
  EXPECT_TRUE(open->body.ends_with("# EOF\n"));
  EXPECT_EQ(open->body.find("# EOF"), open->body.size() - 6) << "only one end";
}

// It would be made from this host's network.
TEST_F(GatewayTest, ACallbackNeedsTheRoleDeploy) {
  Run("token-of-0123456789-call call\ntoken-of-0123456789-both call,deploy\n");
  Serve();
  const auto call = [this](const std::string& token) {
    return Ask({.method = "POST",
                .target = "/async-function/hello",
                .headers = {{"Authorization", "Bearer token-of-0123456789-" + token},
                            {"X-Callback-Url", "http://10.0.0.1/"}}});
  };
  const auto refused = call("call");
  ASSERT_OK(refused);
  EXPECT_EQ(refused->code, 403);
  EXPECT_THAT(refused->body, AllOf(HasSubstr("X-Callback-Url"), HasSubstr("deploy")));
  const auto passed = call("both");
  ASSERT_OK(passed);
  EXPECT_EQ(passed->code, 200);
  EXPECT_EQ(got_.headers.Find("X-Callback-Url"), "http://10.0.0.1/");
}

TEST_F(GatewayTest, RefusesNewRequestsWhenItStops) {
  Serve();
  std::optional<http::Stream> stream;
  handler_ = [&](const http::Responder& responder) { stream = responder.Begin({.body = "a"}); };
  std::optional<StatusOr<http::Response>> answer;
  Begin({.target = "/function/hello"}, answer);
  Settle([&] { return stream.has_value(); });
  gateway_->Drain();
  EXPECT_EQ(CodeOf({.target = "/function/hello"}), 503);
  EXPECT_TRUE(gateway_->is_busy());
  stream->End();
  Settle([&] { return answer.has_value(); });
  EXPECT_OK(*answer);
  EXPECT_FALSE(gateway_->is_busy());
}

// Which path each role opens: every route with every role.
TEST_F(GatewayTest, EachRouteNeedsItsRole) {
  constexpr std::array kRoles = {Role::kCall, Role::kRead, Role::kDeploy, Role::kAdmin};
  std::string file;
  for (const Role role : kRoles) {
    file += fmt::format("token-of-0123456789-{0} {0}\n", NameOf(role));
  }
  Run(file);
  Serve();
  for (const Route& route : Routes()) {
    std::string target(route.path);
    for (const std::string_view parameter : {"{FunctionName}", "{Path}"}) {
      if (const size_t at = target.find(parameter); at != std::string::npos) {
        target.replace(at, parameter.size(), parameter == "{Path}" ? "/x" : "hello");
      }
    }
    http::Request request{.method = std::string(route.method), .target = target};
    requests_ = 0;
    const auto bare = Ask(request);
    ASSERT_OK(bare);
    const bool is_open = route.role == Role::kNone;
    EXPECT_EQ(bare->code == 401, !is_open) << route.id;
    EXPECT_EQ(bare->headers.Find("WWW-Authenticate").has_value(), !is_open) << route.id;
    EXPECT_EQ(requests_ > 0, is_open && route.answerer == Answerer::kService) << route.id;
    for (const Role role : kRoles) {
      request.headers = {
          {"Authorization", fmt::format("Bearer token-of-0123456789-{}", NameOf(role))}};
      const bool may = is_open || role == route.role || role == Role::kAdmin;
      const auto answer = Ask(request);
      ASSERT_OK(answer);
      EXPECT_EQ(answer->code == 403, !may) << route.id << " " << NameOf(role);
      if (!may) {
        EXPECT_THAT(answer->body, HasSubstr(NameOf(route.role))) << route.id;
      } else if (route.answerer == Answerer::kService) {
        EXPECT_EQ(got_.headers.Find("Authorization"), std::nullopt) << "the service need not know";
      }
    }
    request.headers = {{"Authorization", "Bearer another-0123456789-token"}};
    EXPECT_EQ(CodeOf(request) == 401, !is_open) << route.id;
  }
}

TEST_F(GatewayTest, PagesOfOtherSitesNeedTokens) {
  Serve();
  const http::Headers foreign = {{"Origin", "https://other.example"}, {"Host", "127.0.0.1:31113"}};
  EXPECT_EQ(CodeOf({.method = "POST", .target = "/system/functions", .headers = foreign}), 403);
  EXPECT_EQ(requests_, 0);
  EXPECT_EQ(
      CodeOf({.target = "/system/functions",
              .headers = {{"Origin", "http://127.0.0.1:31113"}, {"Host", "127.0.0.1:31113"}}}),
      200);
  // A name of that site that now means 127.0.0.1.
  for (const char* host : {"other.example:31113", "other.example", "1.2.3.4.example"}) {
    EXPECT_EQ(CodeOf({.target = "/system/functions", .headers = {{"Host", host}}}), 403) << host;
  }
  for (const char* host : {"localhost", "localhost:31113", "[::1]:31113", "10.0.0.1"}) {
    EXPECT_EQ(CodeOf({.target = "/system/functions", .headers = {{"Host", host}}}), 200) << host;
  }
  // An image or a link of a page has no Origin.
  for (const char* site : {"cross-site", "same-site", "nonsense"}) {
    for (const char* target :
         {"/function/hello", "/async-function/hello", "/system/functions", "/"}) {
      EXPECT_EQ(CodeOf({.target = target, .headers = {{"Sec-Fetch-Site", site}}}), 403)
          << site << target;
    }
  }
  for (const char* site : {"none", "same-origin"}) {
    EXPECT_EQ(CodeOf({.target = "/function/hello", .headers = {{"Sec-Fetch-Site", site}}}), 200);
  }
  Run("token-0123456789abcdef call\n");
  EXPECT_EQ(CodeOf({.target = "/function/hello",
                    .headers = {{"Sec-Fetch-Site", "cross-site"},
                                {"Authorization", "Bearer token-0123456789abcdef"}}}),
            200);
  http::Headers preflight = foreign;
  preflight.Add("Access-Control-Request-Method", "PUT");
  preflight.Add("Access-Control-Request-Headers", "authorization");
  const auto allowed =
      Ask({.method = "OPTIONS", .target = "/function/hello", .headers = preflight});
  ASSERT_OK(allowed);
  EXPECT_EQ(allowed->code, 204);
  EXPECT_THAT(allowed->headers.Find("Access-Control-Allow-Methods").value_or(""), HasSubstr("PUT"));
  EXPECT_EQ(allowed->headers.Find("Access-Control-Allow-Headers"), "authorization");
  EXPECT_EQ(allowed->headers.Find("Access-Control-Allow-Origin"), "*");
  http::Headers with_token = foreign;
  with_token.Add("Authorization", "Bearer token-0123456789abcdef");
  const auto answer = Ask({.target = "/function/hello", .headers = with_token});
  ASSERT_OK(answer);
  EXPECT_EQ(answer->code, 200);
  EXPECT_EQ(answer->headers.Find("Access-Control-Allow-Origin"), "*");
}

}  // namespace
}  // namespace kgpu::gateway
