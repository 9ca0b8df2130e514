#include "src/platform/net/http/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "src/platform/net/http/client_connection.h"
#include "src/platform/net/http/server.h"
#include "src/platform/sys/tcp_socket.h"
#include "src/platform/sys/unix_socket.h"
#include "testing/fake_loop.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::http {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::HasSubstr;

class HttpClientTest : public ::testing::Test {
 protected:
  void Start(const Request& request, const CallOptions& options = {}) {
    result_.reset();
    call_ = Call::Start(
        loop_, path_, request, [this](StatusOr<Response> result) { result_ = std::move(result); },
        options);
    loop_.RunUntilIdle();
  }
  UniqueFd Accept() {
    auto accepted = listener_->Accept();
    EXPECT_TRUE(accepted.ok() && accepted->has_value());
    return *std::move(*accepted);
  }
  void ListenBare() { listener_.emplace(sys::UnixListener::Listen(path_, {}).value()); }
  // The answer to GET / of a server that says `bytes`.
  StatusOr<Response> AnswerTo(std::string_view bytes, const CallOptions& options = {}) {
    listener_.reset();
    ListenBare();
    Start(Request{}, options);
    {
      const UniqueFd peer = Accept();
      EXPECT_EQ(send(peer.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
                static_cast<ssize_t>(bytes.size()));
      // Unread bytes would make its end an error that comes before what was said.
      std::array<char, 4096> request{};
      EXPECT_GT(recv(peer.get(), request.data(), request.size(), 0), 0);
    }
    loop_.RunUntilIdle();
    return result_.value_or(Internal("no result"));
  }

  TempDir dir_;
  const std::string path_ = dir_.At("s");
  FakeLoop loop_;
  std::optional<sys::UnixListener> listener_;
  std::optional<StatusOr<Response>> result_;
  std::unique_ptr<Call> call_;
};

TEST_F(HttpClientTest, GetsAnAnswer) {
  Server server(loop_, [](const Request& request, const Responder& responder) {
    responder.Send(
        TextResponse(404, fmt::format("{} {} {} {}", request.method, request.target, request.body,
                                      request.headers.Find("X-Y").value_or("-"))));
  });
  ASSERT_OK(server.Listen(path_));
  Start({.method = "POST", .target = "/a?b", .headers = {{"X-Y", "z"}}, .body = "body"});
  ASSERT_TRUE(result_.has_value());
  ASSERT_OK(*result_);
  EXPECT_EQ((*result_)->code, 404) << "an answer like others";
  EXPECT_EQ((*result_)->body, "POST /a?b body z\n");
  EXPECT_EQ((*result_)->headers.Find("content-type"), "text/plain; charset=utf-8");
  EXPECT_EQ(loop_.timers(), 0U);
}

TEST_F(HttpClientTest, SendsAndTakesLargeBodies) {
  Server server(loop_,
                [](const Request& request, const Responder& responder) {
                  responder.Send({.body = request.body + request.body});
                },
                {.limits = {.body = size_t{8} << 20}});
  ASSERT_OK(server.Listen(path_));
  const std::string large(size_t{4} << 20, 'x');
  Start({.method = "POST", .body = large});
  ASSERT_TRUE(result_.has_value());
  ASSERT_OK(*result_);
  EXPECT_EQ((*result_)->body, large + large);
}

TEST_F(HttpClientTest, TakesStreamsAndHeads) {
  Server server(loop_, [](const Request&, const Responder& responder) {
    const Stream stream = responder.Begin({.body = "a"});
    stream.Write("b");
    stream.End();
  });
  ASSERT_OK(server.Listen(path_));
  Start(Request{});
  ASSERT_TRUE(result_.has_value());
  ASSERT_OK(*result_);
  EXPECT_EQ((*result_)->body, "ab");
  Start({.method = "HEAD"});
  ASSERT_TRUE(result_.has_value());
  ASSERT_OK(*result_);
  EXPECT_EQ((*result_)->body, "");
}

TEST_F(HttpClientTest, TakesAnswersOfOldServers) {
  const auto answer = AnswerTo("HTTP/1.0 200 OK\r\n\r\nuntil the end");
  ASSERT_OK(answer);
  EXPECT_EQ(answer->body, "until the end");
}

TEST_F(HttpClientTest, SaysThatAnAnswerIsNotWhole) {
  for (const std::string bytes :
       {"", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"}) {
    EXPECT_THAT(AnswerTo(bytes),
                StatusIs(StatusCode::kUnavailable,
                         AllOf(HasSubstr("GET " + path_ + ": /"), HasSubstr("closed"))))
        << bytes;
  }
}

TEST_F(HttpClientTest, SaysThatAnAnswerIsNoHttp) {
  EXPECT_THAT(AnswerTo("SSH-2.0-x\r\n\r\n"),
              StatusIs(StatusCode::kUnavailable, HasSubstr("invalid HTTP message")));
}

TEST_F(HttpClientTest, SaysThatAnAnswerIsTooLarge) {
  const CallOptions options{.max_header = 100, .max_body = 10};
  EXPECT_THAT(AnswerTo("HTTP/1.1 200 OK\r\n\r\n01234567890", options),
              StatusIs(StatusCode::kOutOfRange, HasSubstr("exceeds 10 bytes")));
  EXPECT_THAT(AnswerTo("HTTP/1.1 200 OK\r\nA: " + std::string(100, 'a'), options),
              StatusIs(StatusCode::kOutOfRange, HasSubstr("100 bytes")));
}

TEST_F(HttpClientTest, CountsTheBytesOfAnAnswerWithoutALength) {
  EXPECT_THAT(AnswerTo("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\n012345\r\n"
                       "6\r\n678901\r\n",
                       {.max_body = 10}),
              StatusIs(StatusCode::kOutOfRange));
  EXPECT_EQ(loop_.watches(), 0U);
}

TEST_F(HttpClientTest, HandsOnAnAnswerAsItArrives) {
  std::optional<Stream> stream;
  Server server(loop_, [&](const Request&, const Responder& responder) {
    stream = responder.Begin({.code = 202, .body = "a"});
  });
  ASSERT_OK(server.Listen(path_));
  std::string got;
  std::optional<Status> end;
  call_ =
      Call::Stream(loop_, Route::To(path_), Request{},
                   {.on_head = [&](int code, const Headers&) { got += fmt::format("{} ", code); },
                    .on_data = [&](std::string_view bytes) { got += bytes; },
                    .on_end = [&](const Status& status) { end = status; }},
                   {.timeout = milliseconds(0)});
  loop_.Advance(std::chrono::hours(1));
  EXPECT_EQ(got, "202 a") << "no deadline";
  EXPECT_FALSE(end);
  ASSERT_TRUE(stream.has_value());
  stream->Write("b");
  stream->End();
  loop_.RunUntilIdle();
  EXPECT_EQ(got, "202 ab");
  ASSERT_TRUE(end.has_value());
  EXPECT_OK(*end);
}

TEST_F(HttpClientTest, AnyHandlerMayDestroyTheCall) {
  Server server(loop_, [](const Request&, const Responder& responder) {
    responder.Send(TextResponse(200, "x"));
  });
  ASSERT_OK(server.Listen(path_));
  for (int at = 0; at < 3; ++at) {
    int calls = 0;
    const auto handle = [&, at](int handler) {
      ++calls;
      if (handler == at) {
        call_.reset();
      }
    };
    call_ = Call::Stream(loop_, Route::To(path_), Request{},
                         {.on_head = [&](int, const Headers&) { handle(0); },
                          .on_data = [&](std::string_view) { handle(1); },
                          .on_end = [&](const Status&) { handle(2); }});
    loop_.RunUntilIdle();
    EXPECT_EQ(calls, at + 1);
  }
}

TEST_F(HttpClientTest, WaitsNoLongerThanItsDeadline) {
  ListenBare();
  Start(Request{}, {.timeout = milliseconds(500)});
  const UniqueFd peer = Accept();
  loop_.Advance(milliseconds(499));
  EXPECT_FALSE(result_.has_value());
  loop_.Advance(milliseconds(1));
  ASSERT_TRUE(result_.has_value());
  EXPECT_THAT(*result_, StatusIs(StatusCode::kDeadlineExceeded, HasSubstr("within 500 ms")));
  EXPECT_EQ(loop_.watches(), 0U);
}

TEST_F(HttpClientTest, CallsNobodyAfterItWasGivenUp) {
  ListenBare();
  Start(Request{});
  call_.reset();
  loop_.Advance(std::chrono::seconds(20));
  EXPECT_FALSE(result_.has_value());
  EXPECT_EQ(loop_.watches(), 0U);
  EXPECT_EQ(loop_.timers(), 0U);
}

TEST_F(HttpClientTest, TellsFromTheLoopThatNobodyListens) {
  bool is_done = false;
  call_ = Call::Start(loop_, path_, Request{}, [&](const StatusOr<Response>& result) {
    EXPECT_THAT(result, StatusIs(StatusCode::kNotFound));
    is_done = true;
    call_.reset();
  });
  EXPECT_FALSE(is_done);
  loop_.Advance(milliseconds(1));
  EXPECT_TRUE(is_done);
}

TEST_F(HttpClientTest, RefusesRequestsAndAddressesThatCannotBe) {
  EXPECT_THAT(Fetch("localhost", Request{}), StatusIs(StatusCode::kInvalidArgument));
  EXPECT_THAT(Fetch(path_, {.target = "/a b"}), StatusIs(StatusCode::kInvalidArgument));
}

TEST_F(HttpClientTest, SaysThatNobodyListensOnAPort) {
  std::string address;
  {
    const auto listener =
        sys::TcpListener::Listen(sys::TcpAddress::Parse("127.0.0.1:0").value()).value();
    address = listener.address();
  }
  EXPECT_THAT(Fetch(address, Request{}),
              StatusIs(StatusCode::kUnavailable, HasSubstr("connection refused")));
}

TEST_F(HttpClientTest, WaitsForAnAnswerWithoutALoop) {
  const std::unique_ptr<EpollLoop> loop = EpollLoop::Create().value();
  Server server(*loop, [](const Request& request, const Responder& responder) {
    responder.Send(TextResponse(200, request.headers.Find("Host").value_or("")));
  });
  const auto address = server.Listen("127.0.0.1:0");
  ASSERT_OK(address);
  std::jthread serving([&] { loop->Run(); });
  const auto answer = Fetch(*address, Request{});
  loop->Quit();
  serving.join();
  ASSERT_OK(answer);
  EXPECT_EQ(answer->body, *address + "\n");
}

TEST(ClientConnectionTest, StopsReadingWhilePausedAndKnowsWhetherItHasSent) {
  FakeLoop loop;
  const TempDir dir;
  std::optional<Stream> stream;
  Server server(loop, [&](const Request&, const Responder& responder) {
    stream = responder.Begin({.body = "first"});
  });
  ASSERT_OK(server.Listen(dir.At("s")));
  const auto connection = ClientConnection::Open(loop, sys::ConnectUnix(dir.At("s")).value(),
                                                 nullptr, "s", ParserLimits{})
                              .value();
  std::string got;
  std::optional<Status> end;
  connection->Send("GET / HTTP/1.1\r\nHost: s\r\n\r\n", false,
                   {.on_data = [&](std::string_view bytes) { got += bytes; },
                    .on_end = [&](const Status& status) { end = status; }});
  EXPECT_TRUE(connection->has_sent());
  EXPECT_EQ(got, "");
  loop.RunUntilIdle();
  EXPECT_EQ(got, "first");
  connection->Pause();
  ASSERT_TRUE(stream.has_value());
  EXPECT_TRUE(stream->Write("second"));
  stream->End();
  loop.RunUntilIdle();
  EXPECT_EQ(got, "first");
  EXPECT_FALSE(end.has_value());
  ASSERT_OK(connection->Resume());
  loop.RunUntilIdle();
  EXPECT_EQ(got, "firstsecond");
  ASSERT_TRUE(end.has_value());
  EXPECT_OK(*end);
  EXPECT_TRUE(connection->IsReusable());
}

TEST(ClientConnectionTest, SendsNothingOnAConnectionThatTheServerHasEnded) {
  FakeLoop loop;
  const TempDir dir;
  std::vector<std::string> paths;
  Server server(loop, [&](const Request& request, const Responder& responder) {
    paths.push_back(request.path);
    responder.Send(TextResponse(200, "first"));
  });
  ASSERT_OK(server.Listen(dir.At("s")));
  const auto connection = ClientConnection::Open(loop, sys::ConnectUnix(dir.At("s")).value(),
                                                 nullptr, "s", ParserLimits{})
                              .value();
  connection->Send("GET /1 HTTP/1.1\r\nHost: s\r\n\r\n", false, {});
  loop.RunUntilIdle();
  ASSERT_TRUE(connection->IsReusable());
  server.Shutdown();
  // Before the loop has looked.
  Status end;
  connection->Send("GET /2 HTTP/1.1\r\nHost: s\r\n\r\n", false,
                   {.on_end = [&](const Status& status) { end = status; }});
  loop.RunUntilIdle();
  EXPECT_THAT(end, StatusIs(StatusCode::kUnavailable));
  EXPECT_FALSE(connection->has_sent());
  EXPECT_EQ(paths, std::vector<std::string>{"/1"});
}

}  // namespace
}  // namespace kgpu::http
