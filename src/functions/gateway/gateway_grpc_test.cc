// The gateway called by Debian's gRPC client, with the generated code of OpenFx's API.
#include <fx_gateway.grpc.pb.h>
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "src/functions/gateway/endpoints.h"
#include "src/functions/gateway/gateway.h"
#include "src/platform/net/rpc/channel.h"
#include "src/platform/sys/unix_socket.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::gateway {
namespace {

using ::testing::HasSubstr;

constexpr const char* kRead = "reader-0123456789abcdef";
constexpr const char* kCall = "caller-0123456789abcdef";

// A loop of its own, as the client blocks.
class GatewayGrpcTest : public ::testing::Test {
 protected:
  void SetUp() override {
    loop_ = EpollLoop::Create().value();
    dir_.WriteFile("tokens", fmt::format("{} read\n{} call\n", kRead, kCall));
    gateway_.emplace(*loop_, Tokens::Open(root_, loop_->clock(), "tokens").value(),
                     GatewayOptions{.upstream = {.socket = dir_.At("service")}});
    endpoints_.emplace(*loop_, *gateway_);
    ASSERT_OK(endpoints_->Listen(dir_.At("gateway"), nullptr));
    service_.emplace(*loop_,
                     [this](const http::Request& request, const http::Responder& responder) {
                       Handle(request, responder);
                     });
    ASSERT_OK(service_->Listen(dir_.At("service")));
    thread_ = std::thread([this] { loop_->Run(); });
    stub_ = pb::FxGateway::NewStub(rpc::ChannelOver(sys::ConnectUnix(dir_.At("gateway")).value()));
  }
  void TearDown() override {
    stub_.reset();
    loop_->Quit();
    thread_.join();
    endpoints_.reset();
    gateway_.reset();
    service_.reset();
  }

  void Handle(const http::Request& request, const http::Responder& responder) {
    if (request.path == "/system/functions") {
      return responder.Send(
          http::JsonResponse(200, R"({"Functions":[{"Name":"a","Replicas":"2"}]})"));
    }
    if (request.path == "/function/echo") {
      http::Response answer{.body = request.body};
      answer.headers.Add("X-Call-Id", request.headers.Find("X-Call-Id").value_or(""));
      return responder.Send(std::move(answer));
    }
    if (request.path == "/function/pieces") {
      const http::Stream stream = responder.Begin({.body = "one "});
      stream.Write("two");
      return stream.End();
    }
    if (request.path == "/function/cut") {
      const auto stream = std::make_shared<http::Stream>(responder.Begin({.body = "half"}));
      return stream->OnDrained([stream] {});
    }
    if (request.path == "/function/trace") {
      return responder.Send(
          {.body = fmt::format("{} {}", request.headers.Find("traceparent").value_or(""),
                               request.headers.Find("tracestate").value_or(""))});
    }
    if (request.path == "/function/slow") {
      has_deadline_ = request.headers.Find("X-Deadline-Ms").has_value();
      waiting_.push_back(responder);
      return;
    }
    responder.Send(http::JsonResponse(404, R"({"code":5,"message":"no such function"})"));
  }

  std::unique_ptr<grpc::ClientContext> Context(const char* token) {
    auto context = std::make_unique<grpc::ClientContext>();
    context->set_deadline(std::chrono::system_clock::now() + limit_);
    if (token != nullptr) {
      context->AddMetadata("authorization", std::string("Bearer ") + token);
    }
    return context;
  }
  grpc::Status Invoke(const std::string& name, const std::string& input,
                      const char* token = kCall) {
    pb::InvokeServiceRequest request;
    request.set_service(name);
    request.set_input(input);
    return stub_->Invoke(Context(token).get(), request, &message_);
  }

  TempDir dir_;
  const sys::Root root_ = sys::Root::Open(dir_.path()).value();
  std::unique_ptr<EpollLoop> loop_;
  std::optional<http::Server> service_;
  std::optional<Gateway> gateway_;
  std::optional<Endpoints> endpoints_;
  std::vector<http::Responder> waiting_;
  std::atomic<bool> has_deadline_ = false;
  std::thread thread_;
  std::unique_ptr<pb::FxGateway::Stub> stub_;
  std::chrono::milliseconds limit_{30'000};
  pb::Message message_;
};

TEST_F(GatewayGrpcTest, CallsFunctionsByteForByte) {
  const std::string bytes("\xff\0\xfe text", 8);
  const grpc::Status status = Invoke("echo", bytes);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(message_.msg(), bytes);
  ASSERT_TRUE(Invoke("pieces", "").ok());
  EXPECT_EQ(message_.msg(), "one two");
  const std::string large(size_t{5} << 20, 'x');
  ASSERT_FALSE(Invoke("echo", large).ok()) << "the test's service takes no more than 1 MiB";
}

TEST_F(GatewayGrpcTest, ListsFunctions) {
  pb::Functions functions;
  const grpc::Status status = stub_->List(Context(kRead).get(), {}, &functions);
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_EQ(functions.functions_size(), 1);
  EXPECT_EQ(functions.functions(0).replicas(), 2U);
}

TEST_F(GatewayGrpcTest, ChecksTokens) {
  pb::Functions functions;
  EXPECT_EQ(stub_->List(Context(nullptr).get(), {}, &functions).error_code(),
            grpc::StatusCode::UNAUTHENTICATED);
  const grpc::Status status = stub_->List(Context(kCall).get(), {}, &functions);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(status.error_message(), HasSubstr("\"read\""));
  EXPECT_EQ(Invoke("echo", "", kRead).error_code(), grpc::StatusCode::PERMISSION_DENIED);
}

// Before the message has arrived.
TEST_F(GatewayGrpcTest, RefusesALargeMessageWithoutATokenByItsStatus) {
  const std::string large(size_t{12} << 20, 'x');
  EXPECT_EQ(Invoke("echo", large, nullptr).error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(Invoke("echo", large, kRead).error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_TRUE(Invoke("echo", large.substr(0, 900'000)).ok());
  EXPECT_EQ(message_.msg(), large.substr(0, 900'000));
}

TEST_F(GatewayGrpcTest, TellsFailuresByTheirCodes) {
  const grpc::Status status = Invoke("none", "");
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(status.error_message(), "no such function");
  EXPECT_EQ(Invoke("../x", "").error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Invoke("cut", "").error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(GatewayGrpcTest, PassesTracesOnUnchanged) {
  const auto context = Context(kCall);
  const std::string parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const std::string state = "congo=t61rcWkgMzE,rojo=00f067aa0ba902b7";
  context->AddMetadata("traceparent", parent);
  context->AddMetadata("tracestate", state);
  pb::InvokeServiceRequest request;
  request.set_service("trace");
  ASSERT_TRUE(stub_->Invoke(context.get(), request, &message_).ok());
  EXPECT_EQ(message_.msg(), parent + " " + state);
}

TEST_F(GatewayGrpcTest, PassesTheDeadlineOn) {
  limit_ = std::chrono::milliseconds(200);
  EXPECT_EQ(Invoke("slow", "").error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  limit_ = std::chrono::milliseconds(30'000);
  EXPECT_TRUE(Invoke("echo", "").ok());
  EXPECT_TRUE(has_deadline_);
}

}  // namespace
}  // namespace kgpu::gateway
