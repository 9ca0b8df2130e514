#include <cri_status_v1.grpc.pb.h>
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "src/container/cri/runtime_facts.h"
#include "src/platform/net/rpc/server.h"
#include "src/platform/sys/acceptor.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::cri {
namespace {

using std::chrono::seconds;

class AskedRuntime final : public ::runtime::v1::RuntimeService::CallbackService {
 public:
  grpc::ServerUnaryReactor* Version(grpc::CallbackServerContext* context,
                                    const ::runtime::v1::VersionRequest*,
                                    ::runtime::v1::VersionResponse* response) override {
    response->set_runtime_name("containerd");
    response->set_runtime_version("1.7.24");
    return Finish(context);
  }
  grpc::ServerUnaryReactor* Status(grpc::CallbackServerContext* context,
                                   const ::runtime::v1::StatusRequest* request,
                                   ::runtime::v1::StatusResponse* response) override {
    if (request->verbose()) {
      (*response->mutable_info())["config"] = R"({"enableCDI":true})";
    }
    return Finish(context);
  }

 private:
  static grpc::ServerUnaryReactor* Finish(grpc::CallbackServerContext* context) {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

class AskRuntimeTest : public ::testing::Test {
 protected:
  StatusOr<RuntimeFacts> Ask() {
    StatusOr<RuntimeFacts> answer = Internal("no answer");
    const auto question =
        AskRuntime(*loop_, dir_.At("s"), seconds(10), [&](StatusOr<RuntimeFacts> facts) {
          answer = std::move(facts);
          loop_->Quit();
        });
    loop_->Run();
    return answer;
  }

  TempDir dir_;
  std::unique_ptr<EpollLoop> loop_ = EpollLoop::Create().value();
};

TEST_F(AskRuntimeTest, AsksForVersionAndConfiguration) {
  AskedRuntime service;
  const auto server = rpc::Server::Start({&service}).value();
  const auto acceptor =
      sys::Acceptor::Create(*loop_, sys::UnixListener::Listen(dir_.At("s"), {}).value(),
                            [&](UniqueFd fd) { server->Serve(std::move(fd)); })
          .value();
  const StatusOr<RuntimeFacts> facts = Ask();
  ASSERT_OK(facts.status());
  EXPECT_EQ(facts->version, "1.7.24");
  EXPECT_TRUE(facts->reads_cdi);
}

TEST_F(AskRuntimeTest, SaysThatNoSocketIsThere) {
  EXPECT_THAT(Ask(), StatusIs(StatusCode::kNotFound));
}

}  // namespace
}  // namespace kgpu::cri
