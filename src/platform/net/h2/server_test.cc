// The server with a real gRPC client: Debian's, over a unix socket.
#include "src/platform/net/h2/server.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <pluginregistration_v1.grpc.pb.h>

#include <future>
#include <optional>
#include <thread>

#include "src/platform/net/h2/grpc_message.h"
#include "src/platform/net/rpc/channel.h"
#include "src/platform/sys/unix_socket.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::h2 {
namespace {

using ::pluginregistration::InfoRequest;
using ::pluginregistration::PluginInfo;
using ::pluginregistration::Registration;
using ::testing::HasSubstr;

// A loop of its own, as the client blocks.
class H2ServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    loop_ = EpollLoop::Create().value();
    server_.emplace(
        *loop_,
        [this](const http::Request& request, const Responder& responder) {
          Handle(request, responder);
        },
        PeerOptions{});
    ASSERT_OK(server_->Listen(dir_.At("s")));
    thread_ = std::thread([this] { loop_->Run(); });
    stub_ = Registration::NewStub(rpc::ChannelOver(sys::ConnectUnix(dir_.At("s")).value()));
  }
  void TearDown() override {
    stub_.reset();
    loop_->Quit();
    thread_.join();
    server_.reset();
  }

  void Handle(const http::Request& request, const Responder& responder) {
    const auto message = GrpcMessageIn(request.body, 100);
    if (!IsGrpc(request) || !message.ok() ||
        request.path != "/pluginregistration.Registration/GetInfo") {
      return responder.Send(GrpcHead(), GrpcTrailers(GrpcCode::kUnimplemented, request.path));
    }
    if (request.headers.Find("x-fail")) {
      return responder.Send(GrpcHead(),
                            GrpcTrailers(GrpcCode::kUnknown, "50% of \xc3\xa9t\xc3\xa9"));
    }
    if (request.headers.Find("x-never")) {
      kept_.push_back(responder);
      return;
    }
    PluginInfo info;
    info.set_name(std::string(request.headers.Find("x-name").value_or("")));
    http::Response response = GrpcHead();
    response.body = FrameGrpcMessage(info.SerializeAsString());
    responder.Send(std::move(response), GrpcTrailers(GrpcCode::kOk, ""));
  }

  grpc::Status Call(PluginInfo& info, const char* name, const std::string& value = "1") {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + limit_);
    context.AddMetadata(name, value);
    return stub_->GetInfo(&context, InfoRequest(), &info);
  }

  TempDir dir_;
  std::unique_ptr<EpollLoop> loop_;
  std::optional<Server> server_;
  std::vector<Responder> kept_;
  std::thread thread_;
  std::unique_ptr<Registration::Stub> stub_;
  std::chrono::milliseconds limit_{30'000};
};

TEST_F(H2ServerTest, AnswersAGrpcClient) {
  for (int i = 0; i < 100; ++i) {
    PluginInfo info;
    const grpc::Status status = Call(info, "x-name", fmt::format("name {}", i));
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(info.name(), fmt::format("name {}", i));
  }
}

TEST_F(H2ServerTest, PassesStatusesToAGrpcClient) {
  PluginInfo info;
  const grpc::Status status = Call(info, "x-fail");
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNKNOWN);
  EXPECT_EQ(status.error_message(), "50% of \xc3\xa9t\xc3\xa9");
}

TEST_F(H2ServerTest, SurvivesClientsThatGiveUp) {
  PluginInfo info;
  limit_ = std::chrono::milliseconds(50);
  EXPECT_EQ(Call(info, "x-never").error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  limit_ = std::chrono::seconds(30);
  EXPECT_TRUE(Call(info, "x-name").ok());
  std::promise<bool> is_open;
  loop_->Post([&] { is_open.set_value(kept_.at(0).is_open()); });
  EXPECT_FALSE(is_open.get_future().get());
  std::promise<void> gone;
  loop_->Post([&] {
    kept_.clear();
    gone.set_value();
  });
  gone.get_future().get();
}

}  // namespace
}  // namespace kgpu::h2
