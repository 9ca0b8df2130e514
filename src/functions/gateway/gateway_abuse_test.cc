// The gateway and callers that mean it ill, or that are just slow: others are served, and memory
// stays bounded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/functions/gateway/endpoints.h"
#include "src/functions/gateway/gateway.h"
#include "src/platform/net/http/server_line.h"
#include "src/platform/net/port/test_caller.h"
#include "src/platform/sys/tcp_socket.h"
#include "testing/fake_loop.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::gateway {
namespace {

using port::TestCaller;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr size_t kMiB = size_t{1} << 20;
constexpr std::string_view kHelloRequest =
    "GET /function/hello HTTP/1.1\r\nHost: localhost\r\n\r\n";

// POST http /function/hello h, as HPACK writes it. It is not refused before its body.
constexpr std::string_view kHelloCall = "\x83\x86\x04\x0f/function/hello\x41\x01h";

class GatewayAbuseTest : public ::testing::Test {
 protected:
  GatewayAbuseTest()
      : gateway_(
            loop_, nullptr,
            GatewayOptions{.upstream = {.socket = dir_.At("service")}, .allows_any_host = true}),
        endpoints_(loop_, gateway_),
        service_(loop_,
                 [this](const http::Request& request, const http::Responder& responder) {
                   if (request.path == "/function/wait") {
                     return waiting_.push_back(responder);
                   }
                   responder.Send(http::TextResponse(200, "hello"));
                 },
                 {.limits = {.body = kMaxRequestBody}, .max_connections = 1024}) {
    address_ = endpoints_.Listen("127.0.0.1:0", nullptr).value();
    EXPECT_OK(service_.Listen(dir_.At("service")));
  }

  std::unique_ptr<TestCaller> Connect() {
    return std::make_unique<TestCaller>(
        loop_, sys::StartConnectTcp(sys::TcpAddress::Parse(address_).value()).value());
  }
  std::unique_ptr<TestCaller> ConnectHttp2() {
    auto caller = Connect();
    caller->SpeakHttp2();
    return caller;
  }
  // Until `is_done`; false when nothing happens any more. Simulated time stands still.
  bool RunUntil(const std::function<bool()>& is_done) {
    for (;;) {
      loop_.RunUntilIdle();
      if (is_done()) {
        return true;
      }
      if (!loop_.WaitForDescriptor(seconds(10))) {
        return is_done();
      }
    }
  }
  bool HasServed(TestCaller& caller) {
    return RunUntil([&] { return caller.text().find("hello\n") != std::string::npos; });
  }
  // That others are served meanwhile.
  void ExpectServesOthers() {
    const auto caller = Connect();
    caller->Send(kHelloRequest);
    EXPECT_TRUE(HasServed(*caller)) << caller->text();
    const auto young = ConnectHttp2();
    const h2::StreamId stream = young->Request("/function/hello");
    EXPECT_TRUE(RunUntil([&] { return young->http2().answers[stream].closed.has_value(); }));
    EXPECT_EQ(young->http2().answers[stream].body, "hello\n");
  }

  TempDir dir_;
  FakeLoop loop_;
  std::vector<http::Responder> waiting_;
  Gateway gateway_;
  Endpoints endpoints_;
  http::Server service_;
  std::string address_;
};

TEST_F(GatewayAbuseTest, NoticesAtOnceThatACallerHasLeft) {
  const std::string wait = "GET /function/wait HTTP/1.1\r\nHost: localhost\r\n\r\n";
  auto old = Connect();
  old->Send(wait);
  auto young = ConnectHttp2();
  young->Request("/function/wait");
  const auto patient = ConnectHttp2();
  const h2::StreamId given_up = patient->Request("/function/wait");
  ASSERT_TRUE(RunUntil([&] { return waiting_.size() == 3; }));
  EXPECT_TRUE(gateway_.is_busy());
  old.reset();
  young.reset();
  patient->http2().Cancel(given_up);
  patient->SendHttp2();
  // No time passes.
  EXPECT_TRUE(RunUntil([&] { return !gateway_.is_busy(); }));
}

TEST_F(GatewayAbuseTest, ASlowHttp2CallerCostsNoMoreThanAPartOfTheAnswer) {
  const auto caller = ConnectHttp2();
  const h2::StreamId stream = caller->Request("/function/wait");
  ASSERT_TRUE(RunUntil([&] { return waiting_.size() == 1; }));
  caller->Pause();
  const http::Stream answer = waiting_.at(0).Begin({});
  const std::string piece(size_t{64} << 10, 'x');
  size_t written = 0;
  while (answer.pending() < 8 * piece.size() && written < 64 * kMiB) {
    ASSERT_TRUE(answer.Write(piece));
    written += piece.size();
    loop_.RunUntilIdle();
  }
  ASSERT_LT(written, 64 * kMiB) << "everything was taken: nothing slows the service down";
  answer.End();
  caller->Resume();
  EXPECT_TRUE(RunUntil([&] { return caller->http2().answers[stream].closed.has_value(); }));
  EXPECT_EQ(caller->http2().answers[stream].body.size(), written);
}

// 17 of these used up the memory for the bodies of all callers.
TEST_F(GatewayAbuseTest, ReceivesNoBodyOfACallerWithoutAToken) {
  dir_.WriteFile("tokens", "token-0123456789abcdef call\n");
  const sys::Root root = sys::Root::Open(dir_.path()).value();
  Gateway closed(loop_, Tokens::Open(root, loop_.clock(), "tokens").value(),
                 GatewayOptions{.upstream = {.socket = dir_.At("service")}});
  Endpoints endpoints(loop_, closed);
  address_ = endpoints.Listen("127.0.0.1:0", nullptr).value();
  const auto post = [](std::string_view target, std::string_view fields, size_t size) {
    return fmt::format("POST {} HTTP/1.1\r\nHost: localhost\r\n{}Content-Length: {}\r\n\r\n",
                       target, fields, size);
  };
  struct Refused {
    std::string_view target;
    std::string_view fields;
    std::string_view code;
  };
  for (const Refused& refused :
       {Refused{"/function/hello", "", "401"},
        {"/function/hello", "Authorization: Bearer another-0123456789-token\r\n", "401"},
        {"/system/functions", "Authorization: Bearer token-0123456789abcdef\r\n", "403"},
        {"/nothing", "Authorization: Bearer token-0123456789abcdef\r\n", "404"},
        {"/healthz", "", "405"},
        {"/function/hello", "Expect: 100-continue\r\n", "401"}}) {
    const auto caller = Connect();
    caller->Send(post(refused.target, refused.fields, kMaxRequestBody - 1));
    const std::string expected = fmt::format("HTTP/1.1 {} ", refused.code);
    EXPECT_TRUE(RunUntil([&] { return caller->text().starts_with(expected); }))
        << refused.target << ": " << caller->text();
  }
  const auto young = ConnectHttp2();
  const h2::StreamId stream = young->Request("/function/hello", std::string(kMiB, 'x'));
  EXPECT_TRUE(RunUntil([&] { return young->http2().answers[stream].closed.has_value(); }));
  EXPECT_EQ(young->http2().answers[stream].fields[":status"], "401");
  // A caller with a token, whose body comes after all of these.
  const auto caller = Connect();
  caller->Send(
      post("/function/hello", "Authorization: Bearer token-0123456789abcdef\r\n", kMiB / 2));
  caller->Send(std::string(kMiB / 2, 'x'));
  EXPECT_TRUE(HasServed(*caller)) << caller->text();
}

TEST_F(GatewayAbuseTest, RefusesAHugeBodyBeforeItComes) {
  const auto old = Connect();
  old->Send(
      "POST /function/hello HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n");
  EXPECT_TRUE(RunUntil([&] { return old->is_closed() || !old->text().empty(); }));
  EXPECT_THAT(old->text(), StartsWith("HTTP/1.1 413"));
  const auto chunked = Connect();
  chunked->Send(
      "POST /function/hello HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
      "FFFFFFFF\r\n");
  EXPECT_TRUE(RunUntil([&] { return chunked->is_closed() || !chunked->text().empty(); }));
  EXPECT_THAT(chunked->text(), StartsWith("HTTP/1.1 413"));
  const auto young = ConnectHttp2();
  const h2::StreamId stream = young->Request("/function/hello", std::string(20 * kMiB, 'x'));
  EXPECT_TRUE(RunUntil([&] { return young->http2().answers[stream].closed.has_value(); }));
  EXPECT_EQ(young->http2().answers[stream].fields[":status"], "413");
  ExpectServesOthers();
}

TEST_F(GatewayAbuseTest, AnInvalidGrpcTimeoutIsAnError) {
  const auto caller = ConnectHttp2();
  const std::string message("\0\0\0\0\x07\n\x05hello", 12);
  for (const char* timeout : {"-1S", "1x", "S", "123456789S", "1 S", "", "0x1S"}) {
    const h2::StreamId stream =
        caller->http2().Request("/pb.FxGateway/Invoke", message,
                                {{"content-type", "application/grpc"}, {"grpc-timeout", timeout}});
    caller->SendHttp2();
    EXPECT_TRUE(RunUntil([&] { return caller->http2().answers[stream].closed.has_value(); }));
    EXPECT_EQ(caller->http2().answers[stream].fields["grpc-status"], "3") << timeout;
    EXPECT_THAT(caller->http2().answers[stream].fields["grpc-message"], HasSubstr("grpc-timeout"));
  }
  const h2::StreamId valid =
      caller->http2().Request("/pb.FxGateway/Invoke", message,
                              {{"content-type", "application/grpc"}, {"grpc-timeout", "5S"}});
  caller->SendHttp2();
  EXPECT_TRUE(RunUntil([&] { return caller->http2().answers[valid].closed.has_value(); }));
  EXPECT_EQ(caller->http2().answers[valid].fields["grpc-status"], "0");
}

// Frames of HTTP/2 that ask for nothing, and headers without end. The answer to each is the end of
// its connection; nobody else notices.
TEST_F(GatewayAbuseTest, EndsFloods) {
  constexpr uint32_t kMany = 20'000;
  const std::string call = "\x83\x86\x84\x41\x01h";
  const auto headers = [&](uint32_t i, uint8_t flags) {
    return h2::FrameOf(NGHTTP2_HEADERS, flags, 2 * i + 1, call);
  };
  struct Flood {
    const char* name;
    std::function<std::string(uint32_t)> frames;
  };
  const std::vector<Flood> floods = {
      {"resets",
       [&](uint32_t i) {
         return headers(i, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM) +
                h2::FrameOf(NGHTTP2_RST_STREAM, 0, 2 * i + 1, std::string("\0\0\0\x08", 4));
       }},
      {"continuations",
       [&](uint32_t i) {
         return i == 0 ? headers(0, 0)
                       : h2::FrameOf(NGHTTP2_CONTINUATION, 0, 1, std::string("\x40\x01x\x01y", 5));
       }},
      {"pings", [](uint32_t) { return h2::FrameOf(NGHTTP2_PING, 0, 0, "12345678"); }},
      {"settings",
       [](uint32_t) {
         return h2::FrameOf(NGHTTP2_SETTINGS, 0, 0, std::string("\0\x04\0\0\xff\xff", 6));
       }},
      {"empty data",
       [](uint32_t i) {
         return i == 0 ? h2::FrameOf(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1, kHelloCall)
                       : h2::FrameOf(NGHTTP2_DATA, 0, 1, "");
       }},
      {"priorities",
       [](uint32_t i) {
         return h2::FrameOf(NGHTTP2_PRIORITY, 0, 2 * i + 1, std::string("\0\0\0\0\x01", 5));
       }},
  };
  for (const Flood& flood : floods) {
    const auto caller = Connect();
    std::string begin(http::kHttp2Preface);
    begin += h2::FrameOf(NGHTTP2_SETTINGS, 0, 0, "");
    caller->Send(begin);
    for (uint32_t i = 0; i < kMany && !caller->is_closed(); ++i) {
      caller->Send(flood.frames(i));
      loop_.RunUntilIdle();
    }
    EXPECT_TRUE(RunUntil([&] { return caller->is_closed(); })) << flood.name;
    ExpectServesOthers();
  }
  EXPECT_FALSE(gateway_.is_busy());
}

// A few bytes that become many when they are decompressed: one field of 4 KB, kept in the table and
// named again and again.
TEST_F(GatewayAbuseTest, ResetsHeaderBombs) {
  const auto caller = Connect();
  std::string bomb("\x83\x86\x84\x41\x01h\x40\x01x\x7f\x81\x1e", 12);  // x: 3,968 bytes
  bomb += std::string(127 + 1 + 30 * 128, 'y');
  for (int i = 0; i < 8'000; ++i) {
    bomb += '\xbe';  // the newest field of the table
  }
  std::string text(http::kHttp2Preface);
  text += h2::FrameOf(NGHTTP2_SETTINGS, 0, 0, "") +
          h2::FrameOf(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM, 1, bomb);
  caller->Send(text);
  const std::string reset = h2::FrameOf(NGHTTP2_RST_STREAM, 0, 1, "").substr(3);
  EXPECT_TRUE(RunUntil(
      [&] { return caller->text().find(reset) != std::string::npos || caller->is_closed(); }));
  EXPECT_THAT(caller->text(), HasSubstr(reset));
  EXPECT_FALSE(gateway_.is_busy());
  const auto old = Connect();
  old->Send("GET / HTTP/1.1\r\nHost: h\r\nX: " + std::string(size_t{70} << 10, 'y'));
  EXPECT_TRUE(RunUntil([&] { return !old->text().empty(); }));
  EXPECT_THAT(old->text(), StartsWith("HTTP/1.1 431"));
  ExpectServesOthers();
}

// A request whose body never ends, and one whose caller ends its side in the middle.
TEST_F(GatewayAbuseTest, EndsHalfRequests) {
  const auto caller = Connect();
  std::string text(http::kHttp2Preface);
  const std::string_view call = kHelloCall;
  text +=
      h2::FrameOf(NGHTTP2_SETTINGS, 0, 0, "") +
      h2::FrameOf(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM, 1, call) +
      h2::FrameOf(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 3, call) +
      h2::FrameOf(NGHTTP2_DATA, 0, 3, "half");
  caller->Send(text);
  const auto old = Connect();
  old->Send("POST /function/hello HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nhalf");
  old->EndSending();
  EXPECT_TRUE(RunUntil([&] { return old->is_closed(); }));
  EXPECT_EQ(old->text(), "") << "half a request is none";
  EXPECT_TRUE(RunUntil([&] { return !caller->text().empty(); }));
  loop_.Advance(seconds(62));
  const std::string reset = h2::FrameOf(NGHTTP2_RST_STREAM, 0, 3, "").substr(3);
  EXPECT_TRUE(RunUntil([&] { return caller->text().find(reset) != std::string::npos; }));
  EXPECT_FALSE(gateway_.is_busy());
}

}  // namespace
}  // namespace kgpu::gateway
