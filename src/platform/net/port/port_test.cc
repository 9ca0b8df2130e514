#include "src/platform/net/port/port.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nghttp2/nghttp2.h>

#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "src/platform/net/http/server_line.h"
#include "src/platform/net/port/test_caller.h"
#include "src/platform/net/tls/context.h"
#include "src/platform/sys/tcp_socket.h"
#include "src/platform/sys/unix_socket.h"
#include "testing/fake_loop.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"
#include "testing/tls/certificates.h"

namespace kgpu::port {
namespace {

using std::chrono::seconds;
using ::testing::AnyOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Optional;
using ::testing::StartsWith;

constexpr std::string_view kGet = "GET /a HTTP/1.1\r\nHost: h\r\n\r\n";
constexpr int kMany = 1000;

// The name, the path and where it came from.
std::string Describe(std::string_view protocol, const http::Request& request) {
  return fmt::format("{} {}{}{}\n", protocol, request.path, request.has_tls ? " tls" : "",
                     request.is_from_unix_socket ? " unix" : "");
}

class PortTest : public ::testing::Test {
 protected:
  PortTest() {
    const TestCertificate leaf = authority_.Issue({.names = {"127.0.0.1"}});
    server_context_ =
        tls::Context::ForServer({.certificate_pem = leaf.certificate_pem, .key_pem = leaf.key_pem})
            .value();
    client_context_ = tls::Context::ForClient({.ca_pem = authority_.certificate_pem()}).value();
  }

  // Paths that begin with "/wait" are answered later.
  void Make(const PortOptions& options = {}) {
    port_ = std::make_unique<Port>(
        loop_,
        [this](const http::Request& request, const http::Responder& responder) {
          if (request.path.starts_with("/wait")) {
            waiting1_.push_back(responder);
          } else {
            responder.Send(http::TextResponse(200, Describe("1", request)));
          }
        },
        [this](const http::Request& request, const h2::Responder& responder) {
          if (request.path.starts_with("/wait")) {
            waiting2_.push_back(responder);
          } else {
            responder.Send({.body = Describe("2", request)});
          }
        },
        options);
  }
  void Serve(const PortOptions& options = {}) {
    Make(options);
    address_ = port_->Listen("127.0.0.1:0").value();
  }
  void ServeTls(const PortOptions& options = {}) {
    Make(options);
    address_ = port_->ListenTls("127.0.0.1:0", [this] { return server_context_; }).value();
  }

  std::unique_ptr<TestCaller> Connect() {
    return std::make_unique<TestCaller>(
        loop_, sys::StartConnectTcp(sys::TcpAddress::Parse(address_).value()).value());
  }
  std::unique_ptr<TestCaller> ConnectTls(const std::vector<std::string>& protocols) {
    auto caller = Connect();
    caller->Secure(client_context_, protocols);
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
  bool RunUntilClosed(const TestCaller& caller) {
    return RunUntil([&] { return caller.is_closed(); });
  }
  // What an HTTP/1.1 caller gets.
  std::string Ask1(TestCaller& caller, std::string_view request = kGet) {
    caller.Send(request);
    RunUntil([&] { return caller.text().ends_with("\n") || caller.is_closed(); });
    return caller.text();
  }
  std::string Ask2(TestCaller& caller, const std::string& path = "/a") {
    const h2::StreamId stream = caller.Request(path);
    RunUntil([&] { return caller.http2().answers[stream].closed || caller.is_closed(); });
    return caller.http2().answers[stream].body;
  }
  void SendHttp2Slowly(TestCaller& caller) {
    caller.http2().Request("/slow");
    caller.Pause();  // it would answer what comes between the bytes
    for (const char byte : caller.http2().Send()) {
      caller.Send({&byte, 1});
      loop_.RunUntilIdle();
    }
    caller.Resume();
  }
  std::unique_ptr<TestCaller> ConnectHttp2() {
    auto caller = Connect();
    caller->SpeakHttp2();
    return caller;
  }

  TestAuthority authority_;
  std::shared_ptr<const tls::Context> server_context_;
  std::shared_ptr<const tls::Context> client_context_;
  FakeLoop loop_;
  std::vector<http::Responder> waiting1_;
  std::vector<h2::Responder> waiting2_;
  std::unique_ptr<Port> port_;
  std::string address_;
};

TEST_F(PortTest, ServesBothProtocolsWithoutTls) {
  Serve();
  const auto old = Connect();
  EXPECT_THAT(Ask1(*old), EndsWith("1 /a\n"));
  const auto young = ConnectHttp2();
  EXPECT_EQ(Ask2(*young), "2 /a\n");
  EXPECT_EQ(Ask2(*young, "/b"), "2 /b\n") << "the connection goes on";
  EXPECT_EQ(port_->connections(), 2U);
  EXPECT_FALSE(port_->is_busy());
}

TEST_F(PortTest, ServesBothProtocolsAtAUnixSocket) {
  const TempDir dir;
  Make();
  ASSERT_OK(port_->Listen(dir.At("s")));
  TestCaller old(loop_, sys::ConnectUnix(dir.At("s")).value());
  EXPECT_THAT(Ask1(old), EndsWith("1 /a unix\n"));
  TestCaller young(loop_, sys::ConnectUnix(dir.At("s")).value());
  young.SpeakHttp2();
  EXPECT_EQ(Ask2(young), "2 /a unix\n");
}

TEST_F(PortTest, WaitsForBytesThatComeOneByOne) {
  Serve();
  const auto young = ConnectHttp2();
  SendHttp2Slowly(*young);
  ASSERT_TRUE(RunUntil([&] { return young->http2().answers[1].closed.has_value(); }));
  EXPECT_EQ(young->http2().answers[1].body, "2 /slow\n");
  for (const std::string method : {"PUT", "POST", "PATCH", "PRI", "GET"}) {
    const auto old = Connect();
    for (const char byte : method + " /slow HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n") {
      old->Send({&byte, 1});
      loop_.RunUntilIdle();
    }
    ASSERT_TRUE(RunUntil([&] { return old->text().ends_with("\n"); })) << method;
    EXPECT_THAT(old->text(), EndsWith("1 /slow\n")) << method;
  }
}

TEST_F(PortTest, TakesARequestThatComesWithThePreface) {
  Serve();
  const auto caller = Connect();
  caller->SpeakHttp2();
  EXPECT_EQ(caller->Request("/first"), 1);  // in one piece with the preface
  EXPECT_EQ(caller->Request("/second"), 3);
  ASSERT_TRUE(RunUntil([&] { return caller->http2().answers[3].closed.has_value(); }));
  EXPECT_EQ(caller->http2().answers[1].body, "2 /first\n");
  EXPECT_EQ(caller->http2().answers[3].body, "2 /second\n");
}

TEST_F(PortTest, ClosesCallersThatSayNothingOrTooLittle) {
  Serve();
  const auto silent = Connect();
  const auto slow = Connect();
  slow->Send(http::kHttp2Preface.substr(0, 23));
  ASSERT_TRUE(RunUntil([&] { return port_->connections() == 2; }));
  loop_.Advance(seconds(9));
  EXPECT_EQ(port_->connections(), 2U);
  loop_.Advance(seconds(1));
  EXPECT_EQ(port_->connections(), 0U);
  EXPECT_TRUE(RunUntilClosed(*silent));
  EXPECT_TRUE(RunUntilClosed(*slow));
  EXPECT_EQ(loop_.timers(), 0U);
}

TEST_F(PortTest, ClosesHttp2CallersThatAskForNothing) {
  Serve();
  const auto caller = Connect();
  caller->Send(http::kHttp2Preface);
  ASSERT_TRUE(RunUntil([&] { return caller->text().size() > 9; })) << "the server's settings";
  loop_.Advance(seconds(11));
  EXPECT_TRUE(RunUntilClosed(*caller));
  EXPECT_EQ(port_->connections(), 0U);
  EXPECT_EQ(loop_.timers(), 0U);
}

TEST_F(PortTest, TakesHalfClosedConnections) {
  Serve();
  const auto old = Connect();
  old->Send(kGet);
  old->EndSending();
  ASSERT_TRUE(RunUntilClosed(*old));
  EXPECT_THAT(old->text(), EndsWith("1 /a\n")) << "its request counts";
  for (const size_t size : {size_t{0}, size_t{5}, size_t{24}}) {
    const auto caller = Connect();
    caller->Send(http::kHttp2Preface.substr(0, size));
    caller->EndSending();
    EXPECT_TRUE(RunUntilClosed(*caller)) << size;
  }
  const auto young = ConnectHttp2();
  young->Request("/wait");
  ASSERT_TRUE(RunUntil([&] { return !waiting2_.empty(); }));
  young->EndSending();
  ASSERT_TRUE(RunUntilClosed(*young));
  EXPECT_FALSE(waiting2_.at(0).is_open());
  loop_.Advance(seconds(2));
  EXPECT_EQ(port_->connections(), 0U);
  EXPECT_EQ(loop_.timers(), 0U);
}

// Each caller keeps to its own limit, but there are many.
TEST_F(PortTest, LimitsTheBodiesOfAllCallersTogether) {
  PortOptions options;
  options.http.bodies = std::make_shared<http::BodyBudget>(1000);
  options.h2.limits.all_bodies = options.http.bodies;
  Serve(options);
  const auto half = [](size_t size) {
    return fmt::format("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n{}", size * 2,
                       std::string(size, 'x'));
  };
  const auto first = Connect();
  first->Send(half(300));
  const auto second = Connect();
  second->Send(std::string(http::kHttp2Preface) + h2::FrameOf(NGHTTP2_SETTINGS, 0, 0, "") +
               h2::FrameOf(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1, "\x83\x86\x84\x41\x01h") +
               h2::FrameOf(NGHTTP2_DATA, 0, 1, std::string(300, 'x')));
  ASSERT_TRUE(RunUntil([&] { return options.http.bodies->used() == 600; }));
  const auto third = Connect();
  third->Send(half(500));
  ASSERT_TRUE(RunUntilClosed(*third));
  EXPECT_THAT(third->text(), StartsWith("HTTP/1.1 503"));
  const auto fourth = ConnectHttp2();
  const h2::StreamId stream = fourth->Request("/a", std::string(500, 'x'));
  ASSERT_TRUE(RunUntil([&] { return fourth->http2().answers[stream].closed.has_value(); }));
  EXPECT_EQ(fourth->http2().answers[stream].fields[":status"], "503");
  EXPECT_EQ(options.http.bodies->used(), 600U);
  first->Send(std::string(300, 'x'));
  EXPECT_TRUE(RunUntil([&] { return first->text().ends_with("\n"); }));
  EXPECT_THAT(first->text(), StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(options.http.bodies->used(), 300U);
  second->EndSending();
  EXPECT_TRUE(RunUntilClosed(*second));
  EXPECT_EQ(options.http.bodies->used(), 0U);
  const h2::StreamId last = fourth->Request("/a", std::string(900, 'x'));
  ASSERT_TRUE(RunUntil([&] { return fourth->http2().answers[last].closed.has_value(); }));
  EXPECT_EQ(fourth->http2().answers[last].fields[":status"], "200");
  EXPECT_EQ(options.http.bodies->used(), 0U);
}

TEST_F(PortTest, TellsWhenAnHttp2CallerLeaves) {
  Serve();
  int gone = 0;
  const auto start = [&](TestCaller& caller) {
    waiting2_.clear();
    const h2::StreamId stream = caller.Request("/wait");
    EXPECT_TRUE(RunUntil([&] { return !waiting2_.empty(); }));
    waiting2_.at(0).OnGone([&] { ++gone; });
    return stream;
  };
  const auto caller = ConnectHttp2();
  const h2::StreamId stream = start(*caller);
  waiting2_.at(0).Begin({.body = "a"});
  EXPECT_EQ(gone, 0);
  caller->http2().Cancel(stream);
  caller->SendHttp2();
  EXPECT_TRUE(RunUntil([&] { return gone == 1; })) << "it gave up one request";
  start(*caller);
  caller->EndSending();
  EXPECT_TRUE(RunUntil([&] { return gone == 2; })) << "it left";
  const auto patient = ConnectHttp2();
  start(*patient);
  waiting2_.at(0).Send({.body = "done"});
  EXPECT_TRUE(RunUntil([&] { return !patient->http2().answers[1].body.empty(); }));
  patient->EndSending();
  EXPECT_TRUE(RunUntilClosed(*patient));
  EXPECT_EQ(gone, 2) << "it has its answer";
}

TEST_F(PortTest, TellsWhenAnHttp2StreamIsDrained) {
  Serve();
  const auto caller = ConnectHttp2();
  const h2::StreamId stream = caller->Request("/wait");
  ASSERT_TRUE(RunUntil([&] { return !waiting2_.empty(); }));
  const h2::Responder responder = waiting2_.at(0);
  caller->Pause();
  responder.Begin({.body = std::string(size_t{8} << 20, 'x')});
  int drained = 0;
  responder.OnDrained([&] { ++drained; });
  loop_.RunUntilIdle();
  EXPECT_EQ(drained, 0);
  EXPECT_GT(responder.pending(), 0U);
  caller->Resume();
  EXPECT_TRUE(RunUntil([&] { return drained == 1; }));
  EXPECT_EQ(responder.pending(), 0U);
  responder.OnDrained([&] { ++drained; });
  loop_.RunUntilIdle();
  EXPECT_EQ(drained, 2) << "nothing is pending";
  caller->Pause();
  ASSERT_TRUE(responder.Write(std::string(size_t{8} << 20, 'x')));
  responder.OnDrained([&] { ++drained; });
  caller->http2().Cancel(stream);
  caller->SendHttp2();
  EXPECT_TRUE(RunUntil([&] { return drained == 3; })) << "nobody waits for it any more";
}

TEST_F(PortTest, TellsAFloodWhyItEnds) {
  Serve();
  const auto other = ConnectHttp2();
  EXPECT_EQ(Ask2(*other), "2 /a\n");
  const auto pings = [](uint32_t) { return h2::FrameOf(NGHTTP2_PING, 0, 0, "12345678"); };
  const auto resets = [](uint32_t i) {
    const uint32_t stream = 2 * i + 3;
    return h2::FrameOf(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, stream, "\x83\x86\x84\x41\x01h") +
           h2::FrameOf(NGHTTP2_RST_STREAM, 0, stream, std::string("\0\0\0\x08", 4));
  };
  for (const auto& frames : std::vector<std::function<std::string(uint32_t)>>{pings, resets}) {
    const auto flood = ConnectHttp2();
    EXPECT_EQ(Ask2(*flood), "2 /a\n");
    for (uint32_t i = 0; i < kMany && !flood->is_closed(); ++i) {
      flood->Send(frames(i));
      loop_.RunUntilIdle();
    }
    EXPECT_TRUE(RunUntilClosed(*flood));
    // nghttp2 counts resets itself, and calls them an internal error.
    EXPECT_THAT(flood->http2().goaway,
                Optional(AnyOf(NGHTTP2_ENHANCE_YOUR_CALM, NGHTTP2_INTERNAL_ERROR)));
  }
  loop_.Advance(seconds(2));
  EXPECT_EQ(port_->connections(), 1U);
  EXPECT_EQ(Ask2(*other, "/b"), "2 /b\n");
}

TEST_F(PortTest, CountsBothProtocolsTowardOneLimit) {
  Serve({.http = {.limits = {}, .max_connections = 2}});
  const auto old = Connect();
  old->Send("GET /wait HTTP/1.1\r\nHost: h\r\n\r\n");
  ASSERT_TRUE(RunUntil([&] { return !waiting1_.empty(); }));
  const auto idle = ConnectHttp2();
  EXPECT_EQ(Ask2(*idle), "2 /a\n");
  const auto third = ConnectHttp2();
  third->Request("/wait");
  ASSERT_TRUE(RunUntil([&] { return !waiting2_.empty(); }));
  EXPECT_TRUE(RunUntilClosed(*idle)) << "it asks for nothing";
  EXPECT_EQ(port_->connections(), 2U);
  EXPECT_TRUE(port_->is_busy());
  const auto late = Connect();
  late->Send(kGet);
  ASSERT_TRUE(RunUntilClosed(*late));
  EXPECT_THAT(late->text(), StartsWith("HTTP/1.1 503"));
  const auto later = ConnectHttp2();
  later->Request("/a");
  ASSERT_TRUE(RunUntilClosed(*later));
  EXPECT_EQ(later->http2().goaway, uint32_t{NGHTTP2_ENHANCE_YOUR_CALM});
  EXPECT_EQ(later->http2().answers[1].closed, uint32_t{NGHTTP2_REFUSED_STREAM})
      << "it may be sent again";
  const auto silent = Connect();
  EXPECT_EQ(port_->connections(), 2U);
  loop_.RunUntilIdle();
  loop_.Advance(seconds(2));
  EXPECT_TRUE(RunUntilClosed(*silent));
  waiting2_.at(0).Send({.body = "2"});
  ASSERT_TRUE(RunUntil([&] { return third->http2().answers[1].closed.has_value(); }));
  EXPECT_EQ(third->http2().answers[1].body, "2");
  const auto next = Connect();
  EXPECT_THAT(Ask1(*next), EndsWith("1 /a\n")) << "the third asks for nothing any more";
}

TEST_F(PortTest, RefusesHttp2WithinTlsPastItsLimit) {
  ServeTls({.http = {.limits = {}, .max_connections = 1}});
  const auto first = ConnectTls({"h2"});
  first->SpeakHttp2();
  first->Request("/wait");
  ASSERT_TRUE(RunUntil([&] { return !waiting2_.empty(); }));
  const auto second = ConnectTls({"h2"});
  second->SpeakHttp2();
  second->Request("/a");
  ASSERT_TRUE(RunUntilClosed(*second));
  EXPECT_EQ(second->http2().goaway, uint32_t{NGHTTP2_ENHANCE_YOUR_CALM});
  EXPECT_TRUE(waiting2_.at(0).is_open());
}

TEST_F(PortTest, RequestsThatDoNotComeToAnEndKeepNobodyOut) {
  Serve({.http = {.limits = {}, .max_connections = 1}});
  const auto caller = Connect();
  caller->Send(std::string(http::kHttp2Preface) + h2::FrameOf(NGHTTP2_SETTINGS, 0, 0, "") +
               h2::FrameOf(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1, "\x83\x86\x84\x41\x01h"));
  ASSERT_TRUE(RunUntil([&] { return caller->text().size() > 9; }));
  const auto next = Connect();
  EXPECT_THAT(Ask1(*next), EndsWith("1 /a\n"));
  EXPECT_TRUE(RunUntilClosed(*caller));
}

TEST_F(PortTest, FinishesItsRequestsAfterAShutdown) {
  Serve();
  const auto idle1 = Connect();
  EXPECT_THAT(Ask1(*idle1), EndsWith("1 /a\n"));
  const auto idle2 = ConnectHttp2();
  EXPECT_EQ(Ask2(*idle2), "2 /a\n");
  const auto unknown1 = Connect();
  unknown1->Send("P");
  const auto unknown2 = Connect();
  const auto old = Connect();
  old->Send("GET /wait HTTP/1.1\r\nHost: h\r\n\r\n");
  const auto young = ConnectHttp2();
  young->Request("/wait");
  ASSERT_TRUE(RunUntil([&] { return !waiting1_.empty() && !waiting2_.empty(); }));
  ASSERT_TRUE(RunUntil([&] { return port_->connections() == 6; }));

  port_->Shutdown();
  EXPECT_TRUE(RunUntilClosed(*idle1));
  EXPECT_TRUE(RunUntilClosed(*idle2));
  unknown1->Send("UT /new HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n");
  EXPECT_TRUE(RunUntilClosed(*unknown1));
  EXPECT_THAT(unknown1->text(), EndsWith("1 /new\n")) << "it could not know";
  unknown2->SpeakHttp2();
  EXPECT_EQ(Ask2(*unknown2, "/new"), "2 /new\n");
  EXPECT_TRUE(RunUntilClosed(*unknown2));
  ASSERT_TRUE(RunUntil([&] { return young->http2().goaway.has_value(); }));
  EXPECT_EQ(young->http2().goaway, uint32_t{NGHTTP2_NO_ERROR});
  EXPECT_TRUE(port_->is_busy());
  waiting1_.at(0).Send(http::TextResponse(200, "last of 1"));
  waiting2_.at(0).Send({.body = "last of 2"});
  ASSERT_TRUE(RunUntilClosed(*old));
  EXPECT_THAT(old->text(), HasSubstr("Connection: close\r\n"));
  EXPECT_THAT(old->text(), EndsWith("last of 1\n"));
  ASSERT_TRUE(RunUntilClosed(*young));
  EXPECT_EQ(young->http2().answers[1].body, "last of 2");
  EXPECT_FALSE(port_->is_busy());
  const auto late = Connect();
  EXPECT_TRUE(RunUntilClosed(*late)) << "nobody listens any more";
}

TEST_F(PortTest, AHandlerMayDestroyIt) {
  port_ = std::make_unique<Port>(
      loop_,
      [this](const http::Request&, const http::Responder& responder) {
        port_.reset();
        responder.Send({});
      },
      [this](const http::Request&, const h2::Responder& responder) {
        port_.reset();
        responder.Send({});
      },
      PortOptions{});
  address_ = port_->Listen("127.0.0.1:0").value();
  const auto caller = ConnectHttp2();
  caller->Request("/");  // within the first bytes
  ASSERT_TRUE(RunUntilClosed(*caller));
  EXPECT_EQ(port_, nullptr);
  EXPECT_EQ(loop_.timers(), 0U);
}

TEST_F(PortTest, EndsWithConnectionsOpen) {
  Serve();
  const auto young = ConnectHttp2();
  young->Request("/wait");
  const auto unknown = Connect();
  unknown->Send("P");
  ASSERT_TRUE(RunUntil([&] { return !waiting2_.empty() && port_->connections() == 2; }));
  port_.reset();
  EXPECT_TRUE(RunUntilClosed(*young));
  EXPECT_TRUE(RunUntilClosed(*unknown));
  waiting2_.at(0).Send({.body = "to nobody"});
  EXPECT_EQ(loop_.timers(), 0U);
}

TEST_F(PortTest, ChoosesByAlpnWithinTls) {
  ServeTls();
  const auto both = ConnectTls({"http/1.1", "h2"});
  both->SpeakHttp2();
  EXPECT_EQ(Ask2(*both), "2 /a tls\n");
  EXPECT_EQ(both->session().Protocol(), "h2");
  for (const std::string protocol : {"http/1.1", "http/1.0"}) {
    const auto old = ConnectTls({"other", protocol});
    EXPECT_THAT(Ask1(*old), EndsWith("1 /a tls\n"));
    EXPECT_EQ(old->session().Protocol(), protocol);
  }
}

TEST_F(PortTest, ChoosesByTheFirstBytesWithoutAlpn) {
  ServeTls();
  const auto old = ConnectTls({});
  EXPECT_THAT(Ask1(*old), EndsWith("1 /a tls\n"));
  const auto young = ConnectTls({});
  young->SpeakHttp2();
  EXPECT_EQ(Ask2(*young), "2 /a tls\n");
  const auto slow = ConnectTls({});
  slow->SpeakHttp2();
  ASSERT_TRUE(RunUntil([&] { return slow->session().is_open(); }));
  SendHttp2Slowly(*slow);
  ASSERT_TRUE(RunUntil([&] { return slow->http2().answers[1].closed.has_value(); }));
  EXPECT_EQ(slow->http2().answers[1].body, "2 /slow tls\n");
}

TEST_F(PortTest, SendsItsSettingsAtOnceAfterAlpn) {
  ServeTls();
  const auto caller = ConnectTls({"h2"});
  ASSERT_TRUE(RunUntil([&] { return caller->text().size() >= 9; }));
  EXPECT_EQ(caller->text().at(3), NGHTTP2_SETTINGS);
  loop_.Advance(seconds(11));
  EXPECT_TRUE(RunUntilClosed(*caller)) << "it never asks for anything";
  EXPECT_EQ(port_->connections(), 0U);
}

TEST_F(PortTest, RefusesOtherProtocolsWithinTls) {
  ServeTls();
  const auto caller = ConnectTls({"spdy/3"});
  ASSERT_TRUE(RunUntilClosed(*caller));
  EXPECT_THAT(caller->status(), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("ALPN")));
  loop_.Advance(seconds(2));
  EXPECT_EQ(loop_.timers(), 0U);
}

TEST_F(PortTest, HoldsCallersToWhatTheyAgreedOn) {
  ServeTls();
  const auto young = ConnectTls({"h2"});
  young->SpeakHttp2();
  young->Send(kGet);
  ASSERT_TRUE(RunUntilClosed(*young));
  EXPECT_EQ(young->http2().goaway, uint32_t{NGHTTP2_PROTOCOL_ERROR});
  const auto old = ConnectTls({"http/1.1"});
  old->Send(http::kHttp2Preface);
  ASSERT_TRUE(RunUntilClosed(*old));
  EXPECT_THAT(old->text(), AnyOf(StartsWith("HTTP/1.1 400"), StartsWith("HTTP/1.1 505")));
}

TEST_F(PortTest, GivesUpHandshakesThatStop) {
  ServeTls();
  const auto whole = tls::Session::ForClient(client_context_, "127.0.0.1", {"h2"}).value();
  const std::string hello = whole->TakeOutput();
  std::vector<std::unique_ptr<TestCaller>> callers;
  for (const size_t size : {size_t{0}, size_t{1}, size_t{3}, hello.size() / 2, hello.size()}) {
    callers.push_back(Connect());
    callers.back()->SendRaw(std::string_view(hello).substr(0, size));
  }
  ASSERT_TRUE(RunUntil([&] { return port_->connections() == 5; }));
  loop_.Advance(seconds(4));
  EXPECT_EQ(port_->connections(), 5U);
  loop_.Advance(seconds(1));
  for (const auto& caller : callers) {
    EXPECT_TRUE(RunUntilClosed(*caller));
  }
  EXPECT_EQ(port_->connections(), 0U);
  EXPECT_EQ(loop_.timers(), 0U);
}

TEST_F(PortTest, TellsPlainCallersToUseTls) {
  ServeTls();
  const auto old = Connect();
  EXPECT_THAT(Ask1(*old), HasSubstr("https://"));
  const auto young = Connect();
  young->Send(http::kHttp2Preface);
  ASSERT_TRUE(RunUntilClosed(*young));
  EXPECT_THAT(young->text(), StartsWith("HTTP/1.1 400"));
}

TEST_F(PortTest, TakesPlainCallersBesideTls) {
  ServeTls({.http = {.limits = {}, .takes_plain = true}});
  const auto old = Connect();
  EXPECT_THAT(Ask1(*old), EndsWith("1 /a\n"));
  const auto young = ConnectHttp2();
  EXPECT_EQ(Ask2(*young), "2 /a\n");
  const auto secret = ConnectTls({"h2"});
  secret->SpeakHttp2();
  EXPECT_EQ(Ask2(*secret), "2 /a tls\n");
}

TEST_F(PortTest, CarriesLargeBodiesBothWaysWithinTls) {
  Make();
  port_ = std::make_unique<Port>(
      loop_, [](const http::Request&, const http::Responder&) {},
      [](const http::Request& request, const h2::Responder& responder) {
        responder.Send({.body = request.body + request.body}, {{"x-end", "1"}});
      },
      PortOptions{});
  address_ = port_->ListenTls("127.0.0.1:0", [this] { return server_context_; }).value();
  const auto caller = ConnectTls({"h2"});
  caller->SpeakHttp2();
  const std::string body(size_t{3} << 20, 'x');
  const h2::StreamId stream = caller->Request("/", body);
  ASSERT_TRUE(RunUntil([&] { return caller->http2().answers[stream].closed.has_value(); }));
  EXPECT_TRUE(caller->http2().answers[stream].body == body + body);
  EXPECT_EQ(caller->http2().answers[stream].fields["x-end"], "1");
}

TEST_F(PortTest, ASlowReaderWithinTlsLosesNothing) {
  ServeTls();
  const auto caller = ConnectTls({"h2"});
  caller->SpeakHttp2();
  const h2::StreamId stream = caller->Request("/wait");
  ASSERT_TRUE(RunUntil([&] { return !waiting2_.empty(); }));
  caller->Pause();
  const h2::Responder responder = waiting2_.at(0);
  responder.Begin({});
  std::string sent;
  // Far more than the sockets hold; the peer's window is what limits it.
  for (int i = 0; i < kMany; ++i) {
    const std::string piece = fmt::format("{:08d}", i) + std::string(8192, 'x');
    ASSERT_TRUE(responder.Write(piece));
    sent += piece;
    loop_.RunUntilIdle();
  }
  EXPECT_GT(responder.pending(), 0U);
  responder.End();
  caller->Resume();
  ASSERT_TRUE(RunUntil([&] { return caller->http2().answers[stream].closed.has_value(); }));
  EXPECT_TRUE(caller->http2().answers[stream].body == sent);
}

TEST_F(PortTest, ClosesAReaderThatStopsWithinTls) {
  Make();
  port_ = std::make_unique<Port>(
      loop_, [](const http::Request&, const http::Responder&) {},
      [](const http::Request&, const h2::Responder& responder) {
        responder.Send({.body = std::string(size_t{60} << 10, 'x')});
      },
      PortOptions{});
  address_ = port_->ListenTls("127.0.0.1:0", [this] { return server_context_; }).value();
  const auto caller = ConnectTls({"h2"});
  caller->SpeakHttp2();
  ASSERT_TRUE(RunUntil([&] { return caller->session().is_open(); }));
  caller->Pause();
  for (int i = 0; i < 90; ++i) {
    // Its window for the whole connection is opened as far as it goes.
    caller->Send(h2::FrameOf(NGHTTP2_WINDOW_UPDATE, 0, 0, std::string("\0\x0f\0\0", 4)));
    caller->Request("/");
    loop_.RunUntilIdle();
  }
  ASSERT_TRUE(port_->is_busy());
  loop_.Advance(seconds(62));
  EXPECT_EQ(port_->connections(), 0U);
  EXPECT_EQ(loop_.timers(), 0U);
}

TEST_F(PortTest, EndsResponsesThatNobodyTakes) {
  Serve();
  const auto caller = Connect();  // opens no window, but reads what comes
  caller->Send(std::string(http::kHttp2Preface) + h2::FrameOf(NGHTTP2_SETTINGS, 0, 0, "") +
               h2::FrameOf(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM, 1,
                           "\x83\x86\x44\x05/wait\x41\x01h"));
  ASSERT_TRUE(RunUntil([&] { return !waiting2_.empty(); }));
  waiting2_.at(0).Begin({.body = std::string(size_t{1} << 20, 'x')});
  ASSERT_TRUE(RunUntil([&] { return caller->text().size() > 65'535; }));
  loop_.Advance(seconds(59));
  EXPECT_TRUE(waiting2_.at(0).is_open());
  loop_.Advance(seconds(4));
  EXPECT_FALSE(waiting2_.at(0).is_open());
  EXPECT_FALSE(port_->is_busy());
}

// Callers of all kinds that stop anywhere leave nothing behind.
TEST_F(PortTest, ForgetsCallersThatStopAnywhere) {
  Make();
  address_ = port_->Listen("127.0.0.1:0").value();
  const std::string plain = address_;
  address_ = port_->ListenTls("127.0.0.1:0", [this] { return server_context_; }).value();
  const std::string secret = address_;
  std::string both(http::kHttp2Preface);
  both += h2::FrameOf(NGHTTP2_SETTINGS, 0, 0, "") +
          h2::FrameOf(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM, 1,
                      "\x83\x86\x84\x41\x01h");
  std::mt19937 random(1);  // the same each time
  for (int i = 0; i < 300; ++i) {
    const std::string text = random() % 2 == 0 ? both : std::string(kGet);
    const bool has_tls = random() % 2 == 0;
    address_ = has_tls ? secret : plain;
    auto caller = has_tls ? ConnectTls(random() % 2 == 0 ? std::vector<std::string>{"h2"}
                                                         : std::vector<std::string>{})
                          : Connect();
    if (has_tls && random() % 4 != 0) {
      loop_.Advance(std::chrono::milliseconds(200));  // so that handshakes are not too many
      ASSERT_TRUE(RunUntil([&] { return caller->session().is_open() || caller->is_closed(); }));
    }
    caller->Send(std::string_view(text).substr(0, random() % (text.size() + 1)));
    if (random() % 2 == 0) {
      loop_.RunUntilIdle();
    }
    if (random() % 3 == 0) {
      caller->EndSending();
      loop_.RunUntilIdle();
    }
  }
  loop_.RunUntilIdle();
  loop_.Advance(std::chrono::minutes(10));
  EXPECT_EQ(port_->connections(), 0U);
  EXPECT_FALSE(port_->is_busy());
  EXPECT_EQ(loop_.timers(), 0U);
  EXPECT_EQ(loop_.watches(), 2U) << "of the addresses";
}

TEST_F(PortTest, EndsAConnectionWhoseBytesWereChanged) {
  ServeTls();
  const auto caller = ConnectTls({"h2"});
  caller->SpeakHttp2();
  caller->Request("/wait");
  ASSERT_TRUE(RunUntil([&] { return !waiting2_.empty(); }));
  caller->SendRaw(std::string_view("\x17\x03\x03\0\x05hello", 10));
  ASSERT_TRUE(RunUntilClosed(*caller));
  EXPECT_FALSE(caller->status().ok()) << "an alert says why";
  EXPECT_FALSE(waiting2_.at(0).is_open());
  waiting2_.at(0).Send({.body = "late"});
  loop_.Advance(seconds(2));
  EXPECT_EQ(loop_.timers(), 0U);
}

TEST_F(PortTest, EndsTlsProperlyAfterAShutdown) {
  ServeTls();
  const auto young = ConnectTls({"h2"});
  young->SpeakHttp2();
  young->Request("/wait");
  const auto shaking = Connect();
  ASSERT_TRUE(RunUntil([&] { return !waiting2_.empty() && port_->connections() == 2; }));
  port_->Shutdown();
  waiting2_.at(0).Send({.body = "last"});
  ASSERT_TRUE(RunUntilClosed(*young));
  EXPECT_EQ(young->http2().answers[1].body, "last");
  EXPECT_TRUE(young->session().has_peer_closed()) << "not cut";
  loop_.Advance(seconds(5));
  EXPECT_TRUE(RunUntilClosed(*shaking));
  EXPECT_EQ(loop_.timers(), 0U);
}

}  // namespace
}  // namespace kgpu::port
