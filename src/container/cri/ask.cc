// The gRPC side of runtime_facts.h.
#include <cri_status_v1.grpc.pb.h>
#include <grpcpp/grpcpp.h>

#include <memory>
#include <semaphore>
#include <utility>

#include "src/container/cri/runtime_facts.h"
#include "src/platform/net/rpc/channel.h"
#include "src/platform/net/rpc/status_map.h"
#include "src/platform/sys/unix_socket.h"

namespace kgpu::cri {
namespace {

using ::runtime::v1::RuntimeService;

// Lives until gRPC is done with both calls.
struct Conversation {
  std::unique_ptr<RuntimeService::Stub> stub;
  grpc::ClientContext version_context;
  grpc::ClientContext status_context;
  ::runtime::v1::VersionRequest version_request;
  ::runtime::v1::VersionResponse version;
  ::runtime::v1::StatusRequest status_request;
  ::runtime::v1::StatusResponse status;
  // Loop thread only; empty when the answer is no longer wanted.
  std::function<void(StatusOr<RuntimeFacts>)> done;
  // Released when gRPC's thread has posted its last to the loop; it outlives us in that thread.
  std::shared_ptr<std::binary_semaphore> ended = std::make_shared<std::binary_semaphore>(0);
};

class Asked final : public Question {
 public:
  explicit Asked(std::shared_ptr<Conversation> talk) : talk_(std::move(talk)) {}
  ~Asked() override {
    talk_->done = nullptr;
    talk_->version_context.TryCancel();
    talk_->status_context.TryCancel();
    // Soon after the cancel: the loop may go once we have returned.
    talk_->ended->acquire();
  }

 private:
  std::shared_ptr<Conversation> talk_;
};

using ConversationPtr = std::shared_ptr<Conversation>;

// Hands the conversation over with the answer: gRPC's thread must not destroy it. When the last
// channel is destroyed, gRPC waits for that thread; there it would not wait, and would free memory
// that the thread still uses.
void Notify(EventLoop& loop, ConversationPtr talk, StatusOr<RuntimeFacts> facts) {
  const std::shared_ptr<std::binary_semaphore> ended = talk->ended;
  loop.Post([talk = std::move(talk), facts = std::move(facts)] {
    if (talk->done) {
      std::exchange(talk->done, nullptr)(facts);
    }
  });
  ended->release();
}

void AskStatus(EventLoop& loop, ConversationPtr talk) {
  Conversation& call = *talk;
  call.status_request.set_verbose(true);
  call.stub->async()->Status(
      &call.status_context, &call.status_request, &call.status,
      [&loop, talk = std::move(talk)](const grpc::Status& status) mutable {
        if (!status.ok()) {
          Notify(loop, std::move(talk),
                 Annotate(rpc::FromGrpc(status), "get the runtime's status"));
          return;
        }
        const auto config = talk->status.info().find("config");
        RuntimeFacts facts =
            JudgeRuntime(talk->version.runtime_name(), talk->version.runtime_version(),
                         config == talk->status.info().end() ? "" : config->second);
        Notify(loop, std::move(talk), std::move(facts));
      });
}

}  // namespace

std::unique_ptr<Question> AskRuntime(EventLoop& loop, const std::string& socket,
                                     std::chrono::milliseconds deadline,
                                     std::function<void(StatusOr<RuntimeFacts>)> done) {
  auto talk = std::make_shared<Conversation>();
  talk->done = std::move(done);
  StatusOr<UniqueFd> fd = sys::ConnectUnix(socket);
  if (!fd.ok()) {
    Notify(loop, talk, fd.status());
    return std::make_unique<Asked>(std::move(talk));
  }
  talk->stub = RuntimeService::NewStub(rpc::ChannelOver(*std::move(fd)));
  const auto until = std::chrono::system_clock::now() + deadline;
  talk->version_context.set_deadline(until);
  talk->status_context.set_deadline(until);
  talk->stub->async()->Version(
      &talk->version_context, &talk->version_request, &talk->version,
      [&loop, talk](const grpc::Status& status) mutable {
        if (status.ok()) {
          AskStatus(loop, std::move(talk));
        } else {
          Notify(loop, std::move(talk),
                 Annotate(rpc::FromGrpc(status), "get the runtime's version"));
        }
      });
  return std::make_unique<Asked>(std::move(talk));
}

}  // namespace kgpu::cri
