#include "src/cli/fn/fn_gateway.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "src/platform/base/event_loop.h"
#include "src/platform/net/http/server.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::cli {
namespace {

using ::testing::HasSubstr;

TEST(InNamespaceTest, NamesTheNamespaceOfAFunction) {
  EXPECT_EQ(InNamespace("/function/hello", "team-a"), "/function/hello.team-a");
  EXPECT_EQ(InNamespace("/function/hello/a.b/c?d=/e", "team-a"),
            "/function/hello.team-a/a.b/c?d=/e");
  EXPECT_EQ(InNamespace("/async-function/hello?n=1", "team-a"), "/async-function/hello.team-a?n=1");
  EXPECT_EQ(InNamespace("/system/functions", "team-a"), "/system/functions?namespace=team-a");
  EXPECT_EQ(InNamespace("/system/functions?replace=true", "team-a"),
            "/system/functions?replace=true&namespace=team-a");
  EXPECT_EQ(InNamespace("/system/function/hello", "team-a"),
            "/system/function/hello?namespace=team-a");
}

TEST(InNamespaceTest, LeavesOtherRequestsAsTheyAre) {
  EXPECT_EQ(InNamespace("/function/hello", ""), "/function/hello");
  for (const char* target : {"/metrics", "/v1/usage?since=1h", "/v1/queue", "/system/info"}) {
    EXPECT_EQ(InNamespace(target, "team-a"), target);
  }
}

// A service on a thread of its own, as commands block.
class ServiceThread {
 public:
  explicit ServiceThread(http::Server::Handler handler) : server_(*loop_, std::move(handler)) {
    EXPECT_OK(server_.Listen(target.address).status());
    thread_ = std::jthread([this] { loop_->Run(); });
  }
  ~ServiceThread() {
    loop_->Quit();
    thread_.join();
  }
  ServiceThread(const ServiceThread&) = delete;
  ServiceThread& operator=(const ServiceThread&) = delete;

  const TempDir dir{};
  GatewayTarget target{.address = dir.At("s")};

 private:
  std::unique_ptr<EpollLoop> loop_ = EpollLoop::Create().value();
  http::Server server_;
  std::jthread thread_;
};

TEST(FnGatewayTest, AsksWithTheTokenAndTheNamespace) {
  ServiceThread service([](const http::Request& request, const http::Responder& responder) {
    responder.Send(http::TextResponse(
        202,
        fmt::format("{} {}", request.target, request.headers.Find("Authorization").value_or("-"))));
  });
  service.target.token = "t";
  service.target.space = "ns";
  const auto response = AskGateway(service.target, {.target = "/function/f"});
  ASSERT_OK(response);
  EXPECT_EQ(response->code, 202);
  EXPECT_EQ(response->body, "/function/f.ns Bearer t\n");
}

TEST(FnGatewayTest, WaitsNoLongerThanAllowed) {
  std::vector<http::Responder> waiting;
  const ServiceThread service([&](const http::Request&, const http::Responder& responder) {
    waiting.push_back(responder);
  });
  EXPECT_THAT(AskGateway(service.target, {}, std::chrono::milliseconds(20)),
              StatusIs(StatusCode::kUnavailable, HasSubstr("within 20 ms")));
}

TEST(FnGatewayTest, HandsOnAStreamUntilItsReaderHasEnough) {
  std::vector<http::Stream> streams;
  const ServiceThread service([&](const http::Request&, const http::Responder& responder) {
    streams.push_back(responder.Begin({.body = "first"}));
  });
  std::string text;
  EXPECT_THAT(
      StreamFromGateway(
          service.target, {},
          {.on_head = [&](int code, const http::Headers&) { text += fmt::format("{} ", code); },
           .on_data =
               [&](std::string_view bytes) {
                 text += bytes;
                 return FailedPrecondition("enough");
               }}),
      StatusIs(StatusCode::kFailedPrecondition, HasSubstr("enough")));
  EXPECT_EQ(text, "200 first");
}

TEST(FnGatewayTest, NamesTheCommandThatStartsTheService) {
  const TempDir dir;
  EXPECT_THAT(AskGateway({.address = dir.At("none")}, {}),
              StatusIs(StatusCode::kUnavailable, HasSubstr("kgpu fn up")));
}

TEST(FnGatewayTest, ARequestThatCannotBeSentIsTheUsersMistake) {
  const ServiceThread service([](const http::Request&, const http::Responder&) {});
  EXPECT_THAT(AskGateway(service.target, {.target = "/function/hello/a b"}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("percent-encode")));
}

}  // namespace
}  // namespace kgpu::cli
