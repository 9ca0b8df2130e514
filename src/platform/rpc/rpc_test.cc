#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <pluginregistration_v1.grpc.pb.h>

#include <chrono>
#include <memory>
#include <optional>
#include <thread>

#include "src/platform/rpc/channel.h"
#include "src/platform/rpc/server.h"
#include "src/platform/rpc/status_map.h"
#include "src/platform/sys/unix_socket.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::rpc {
namespace {

using ::pluginregistration::InfoRequest;
using ::pluginregistration::PluginInfo;
using ::pluginregistration::Registration;

class Named final : public Registration::CallbackService {
 public:
  grpc::ServerUnaryReactor* GetInfo(grpc::CallbackServerContext* context, const InfoRequest*,
                                    PluginInfo* info) override {
    info->set_name("named");
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

struct Connection {
  UniqueFd client;
  UniqueFd server;
};

Connection Connect(sys::UnixListener& listener) {
  Connection connection;
  connection.client = sys::ConnectUnix(listener.path()).value();
  connection.server = listener.Accept().value().value();
  return connection;
}

StatusOr<std::string> AskName(const std::shared_ptr<grpc::Channel>& channel) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
  PluginInfo info;
  const grpc::Status status =
      Registration::NewStub(channel)->GetInfo(&context, InfoRequest(), &info);
  if (!status.ok()) {
    return FromGrpc(status);
  }
  return info.name();
}

class RpcTest : public ::testing::Test {
 protected:
  TempDir dir_;
  Named service_;
  sys::UnixListener listener_ = sys::UnixListener::Listen(dir_.At("s"), {}).value();
};

TEST_F(RpcTest, AnswersOverConnectionsItIsGiven) {
  const auto server = Server::Start({&service_}).value();
  for (int i = 0; i < 3; ++i) {
    Connection connection = Connect(listener_);
    server->Serve(std::move(connection.server));
    EXPECT_THAT(AskName(ChannelOver(std::move(connection.client))), IsOkAndHolds("named"));
  }
}

TEST_F(RpcTest, ClosesConnectionsWhenItGoes) {
  auto server = Server::Start({&service_}).value();
  Connection connection = Connect(listener_);
  server->Serve(std::move(connection.server));
  const auto channel = ChannelOver(std::move(connection.client));
  ASSERT_THAT(AskName(channel), IsOkAndHolds("named"));
  server.reset();
  EXPECT_THAT(AskName(channel), StatusIs(StatusCode::kUnavailable));
}

}  // namespace
}  // namespace kgpu::rpc
