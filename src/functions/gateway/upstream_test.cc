#include "src/functions/gateway/upstream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "src/platform/net/http/server.h"
#include "src/platform/sys/unix_socket.h"
#include "testing/fake_loop.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::gateway {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

class UpstreamTest : public ::testing::Test {
 protected:
  UpstreamTest() { Make({.socket = socket_}); }
  void Make(const UpstreamOptions& options) { upstream_.emplace(loop_, options); }
  void Serve(const http::ServerOptions& options = {}) {
    server_.emplace(
        loop_,
        [this](const http::Request& request, const http::Responder& responder) {
          ++requests_;
          responder.Send(http::TextResponse(200, request.target));
        },
        options);
    ASSERT_OK(server_->Listen(socket_));
  }
  std::unique_ptr<Upstream::Exchange> Start(const http::Request& request = {}) {
    end_.reset();
    return upstream_->Start(request, {.on_data = [this](std::string_view bytes) { body_ += bytes; },
                                      .on_end = [this](const Status& status) { end_ = status; }});
  }
  Status Outcome() { return end_.value_or(Internal("not ended")); }

  TempDir dir_;
  const std::string socket_ = dir_.At("s");
  FakeLoop loop_;
  std::optional<Upstream> upstream_;
  std::optional<http::Server> server_;
  int requests_ = 0;
  std::string body_;
  std::optional<Status> end_;
};

TEST_F(UpstreamTest, UsesAConnectionAgain) {
  Serve();
  for (int i = 0; i < 5; ++i) {
    const auto exchange = Start();
    loop_.RunUntilIdle();
    ASSERT_OK(Outcome());
    EXPECT_TRUE(exchange->was_handed_over());
  }
  EXPECT_EQ(requests_, 5);
  EXPECT_EQ(server_->connections(), 1U);
  EXPECT_EQ(upstream_->idle(), 1U);
  EXPECT_EQ(upstream_->exchanges(), 0U);
}

TEST_F(UpstreamTest, ClosesIdleConnectionsBeforeTheServiceDoes) {
  Serve();
  auto first = Start();
  auto second = Start();
  loop_.RunUntilIdle();
  EXPECT_EQ(upstream_->idle(), 2U);
  loop_.Advance(seconds(15));
  const auto third = Start();
  loop_.RunUntilIdle();
  loop_.Advance(seconds(6));
  EXPECT_EQ(upstream_->idle(), 1U) << "one was used 6 s ago";
  loop_.Advance(seconds(20));
  EXPECT_EQ(upstream_->idle(), 0U);
  EXPECT_EQ(server_->connections(), 0U);
}

TEST_F(UpstreamTest, KeepsNoMoreThanItMay) {
  Make({.socket = socket_, .max_idle = 2});
  Serve();
  std::vector<std::unique_ptr<Upstream::Exchange>> exchanges;
  for (int i = 0; i < 5; ++i) {
    exchanges.push_back(Start());
  }
  loop_.RunUntilIdle();
  EXPECT_EQ(requests_, 5);
  EXPECT_EQ(upstream_->idle(), 2U);
}

TEST_F(UpstreamTest, WaitsASecondForAServiceThatRestarts) {
  const auto exchange = Start();
  loop_.Advance(milliseconds(900));
  EXPECT_FALSE(end_.has_value());
  Serve();
  loop_.Advance(milliseconds(100));
  EXPECT_OK(Outcome());
  EXPECT_EQ(requests_, 1);
}

TEST_F(UpstreamTest, SaysThatTheServiceDoesNotRun) {
  const auto exchange = Start();
  EXPECT_FALSE(end_.has_value()) << "never from Start";
  loop_.Advance(milliseconds(1'100));
  EXPECT_THAT(Outcome(), StatusIs(StatusCode::kUnavailable, HasSubstr("`kgpu fn up`")));
  EXPECT_FALSE(exchange->was_handed_over());
  EXPECT_EQ(loop_.timers(), 0U);
}

TEST_F(UpstreamTest, SendsARequestOnAnotherConnectionIfTheKeptOneHasEnded) {
  Serve();
  const auto first = Start();
  loop_.RunUntilIdle();
  ASSERT_EQ(upstream_->idle(), 1U);
  // The end of the connection has not been noticed when the request comes.
  server_->Stop();
  server_.reset();
  const auto second = Start({.method = "POST", .target = "/again"});
  Serve();
  loop_.Advance(milliseconds(200));
  EXPECT_OK(Outcome());
  EXPECT_THAT(body_, HasSubstr("/again"));
  EXPECT_EQ(requests_, 2);
}

TEST_F(UpstreamTest, SendsALargeRequestOnAnotherConnectionToo) {
  std::string received;
  const auto serve = [&] {
    server_.emplace(loop_, [&](const http::Request& request, const http::Responder& responder) {
      received = request.body;
      responder.Send(http::TextResponse(200, "ok"));
    });
    ASSERT_OK(server_->Listen(socket_));
  };
  serve();
  std::string body(size_t{512} << 10, 'x');
  body += "end";
  const auto first = Start({.method = "POST", .body = body});
  loop_.RunUntilIdle();
  EXPECT_OK(Outcome());
  EXPECT_EQ(received, body);
  const auto second = Start({.method = "POST", .body = body});
  loop_.RunUntilIdle();
  EXPECT_OK(Outcome());
  EXPECT_EQ(server_->connections(), 1U) << "it was used again";
  server_->Stop();
  server_.reset();
  received.clear();
  const auto third = Start({.method = "POST", .body = body});
  serve();
  loop_.Advance(milliseconds(200));
  EXPECT_OK(Outcome());
  EXPECT_EQ(received, body);
}

TEST_F(UpstreamTest, NeverSendsARequestTwice) {
  auto listener = sys::UnixListener::Listen(socket_, {}).value();
  const auto exchange = Start({.method = "POST"});
  loop_.RunUntilIdle();
  {
    auto peer = listener.Accept();
    ASSERT_TRUE(peer.ok() && peer->has_value());
    std::array<char, 16> some{};
    EXPECT_GT(recv((*peer)->get(), some.data(), some.size(), 0), 0);
  }
  loop_.Advance(seconds(5));
  EXPECT_THAT(Outcome(), StatusIs(StatusCode::kUnavailable));
  EXPECT_TRUE(exchange->was_handed_over());
  const auto again = listener.Accept();
  ASSERT_OK(again);
  EXPECT_FALSE(again->has_value());
}

TEST_F(UpstreamTest, LimitsTheExchanges) {
  Make({.socket = socket_, .max_exchanges = 1});
  Serve();
  const auto first = Start();
  std::optional<Status> refused;
  const auto second =
      upstream_->Start({}, {.on_end = [&](const Status& status) { refused = status; }});
  loop_.Advance(milliseconds(1));
  ASSERT_TRUE(refused.has_value());
  EXPECT_THAT(*refused, StatusIs(StatusCode::kResourceExhausted));
  EXPECT_EQ(requests_, 1);
  EXPECT_THAT(Outcome(), IsOk());
  EXPECT_EQ(upstream_->exchanges(), 0U);
}

TEST_F(UpstreamTest, LimitsWhatTheServiceHasNotTaken) {
  constexpr size_t kSize = size_t{2} << 20;
  Make({.socket = socket_, .max_unsent = 2 * kSize});
  auto listener = sys::UnixListener::Listen(socket_, {}).value();  // accepts, and reads nothing
  const http::Request large{.method = "POST", .body = std::string(kSize, 'x')};
  const auto first = Start(large);
  const auto second = Start(large);
  std::optional<Status> refused;
  // A third of them, but for what the sockets have taken.
  const http::Request third{.method = "POST", .body = std::string(2 * kSize, 'x')};
  const auto exchange =
      upstream_->Start(third, {.on_end = [&](const Status& status) { refused = status; }});
  std::optional<Status> small;
  const auto other =
      upstream_->Start({}, {.on_end = [&](const Status& status) { small = status; }});
  loop_.Advance(milliseconds(1));
  ASSERT_TRUE(refused.has_value());
  EXPECT_THAT(*refused, StatusIs(StatusCode::kResourceExhausted, HasSubstr("large requests")));
  EXPECT_FALSE(small.has_value()) << "small ones go on";
  EXPECT_FALSE(end_.has_value());
}

TEST_F(UpstreamTest, RefusesWhatCannotBeWritten) {
  Serve();
  const auto exchange = Start({.target = "/a b"});
  loop_.Advance(milliseconds(1));
  EXPECT_THAT(Outcome(), StatusIs(StatusCode::kInvalidArgument));
  EXPECT_EQ(requests_, 0);
}

TEST_F(UpstreamTest, EndsWithoutAWordWhenGivenUp) {
  auto listener = sys::UnixListener::Listen(socket_, {}).value();
  auto exchange = Start();
  loop_.RunUntilIdle();
  exchange.reset();
  loop_.Advance(seconds(5));
  EXPECT_FALSE(end_.has_value());
  EXPECT_EQ(upstream_->exchanges(), 0U);
  EXPECT_EQ(loop_.watches(), 0U);
  EXPECT_EQ(loop_.timers(), 0U);
}

}  // namespace
}  // namespace kgpu::gateway
