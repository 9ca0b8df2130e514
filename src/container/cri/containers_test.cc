#include "src/container/cri/containers.h"

#include <cri_status_v1.grpc.pb.h>
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "src/platform/net/rpc/server.h"
#include "src/platform/sys/acceptor.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::cri {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Answer = StatusOr<std::vector<ContainerFacts>>;

// Answers with `response`.
class Runtime final : public ::runtime::v1::RuntimeService::CallbackService {
 public:
  grpc::ServerUnaryReactor* ListContainers(grpc::CallbackServerContext* context,
                                           const ::runtime::v1::ListContainersRequest*,
                                           ::runtime::v1::ListContainersResponse* out) override {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    *out = response;
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  ::runtime::v1::ListContainersResponse response;
};

void Add(Runtime& runtime, const std::string& id, const std::string& pod, bool is_running) {
  ::runtime::v1::Container& container = *runtime.response.add_containers();
  container.set_id(id);
  container.set_state(is_running ? ::runtime::v1::CONTAINER_RUNNING
                                 : ::runtime::v1::CONTAINER_EXITED);
  auto& labels = *container.mutable_labels();
  if (!pod.empty()) {
    labels["io.kubernetes.pod.namespace"] = "ml";
    labels["io.kubernetes.pod.name"] = pod;
    labels["io.kubernetes.pod.uid"] = "uid-" + pod;
    labels["io.kubernetes.container.name"] = "main";
  }
}

class ListContainersTest : public ::testing::Test {
 protected:
  void Serve() {
    server_ = rpc::Server::Start({&runtime_}).value();
    acceptor_ = sys::Acceptor::Create(*loop_, sys::UnixListener::Listen(dir_.At("s"), {}).value(),
                                      [&](UniqueFd fd) { server_->Serve(std::move(fd)); })
                    .value();
  }
  Answer Ask(milliseconds deadline) {
    Answer answer = Internal("no answer");
    const auto question = ListContainers(*loop_, dir_.At("s"), deadline, [&](Answer facts) {
      answer = std::move(facts);
      loop_->Quit();
    });
    loop_->Run();
    return answer;
  }

  TempDir dir_;
  std::unique_ptr<EpollLoop> loop_ = EpollLoop::Create().value();
  Runtime runtime_;
  std::unique_ptr<rpc::Server> server_;
  std::unique_ptr<sys::Acceptor> acceptor_;
};

TEST_F(ListContainersTest, TellsWhoseEachContainerIs) {
  Serve();
  Add(runtime_, "aa", "train", true);
  Add(runtime_, "bb", "serve", false);
  Add(runtime_, "cc", "", true);  // somebody's own, not the kubelet's
  const Answer answer = Ask(seconds(10));
  ASSERT_OK(answer);
  EXPECT_THAT(*answer,
              ElementsAre(ContainerFacts{"aa", "ml", "train", "uid-train", "main", true},
                          ContainerFacts{"bb", "ml", "serve", "uid-serve", "main", false}));
}

TEST_F(ListContainersTest, SaysThatNoSocketIsThere) {
  EXPECT_THAT(Ask(seconds(10)), StatusIs(StatusCode::kNotFound));
}

TEST_F(ListContainersTest, WaitsNoLongerThanItsDeadline) {
  const auto nobody_accepts = sys::UnixListener::Listen(dir_.At("s"), {}).value();
  EXPECT_THAT(Ask(milliseconds(50)),
              StatusIs(StatusCode::kDeadlineExceeded, HasSubstr("'s containers")));
}

TEST_F(ListContainersTest, TellsNobodyOnceTheQuestionIsDropped) {
  Serve();
  bool is_reported = false;
  auto question =
      ListContainers(*loop_, dir_.At("s"), seconds(10), [&](const Answer&) { is_reported = true; });
  auto refused = ListContainers(*loop_, dir_.At("none"), seconds(10),
                                [&](const Answer&) { is_reported = true; });
  question.reset();
  refused.reset();
  loop_->After(milliseconds(1), [this] { loop_->Quit(); });
  loop_->Run();
  EXPECT_FALSE(is_reported);
}

}  // namespace
}  // namespace kgpu::cri
