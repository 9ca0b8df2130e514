#include "testing/kubelet/cri_server.h"

#include <cri_status_v1.grpc.pb.h>

#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/net/rpc/server.h"
#include "testing/kubelet/lifeline.h"
#include "testing/kubelet/served_call.h"
#include "testing/kubelet/server_socket.h"

namespace kgpu::kubelet {
namespace {

using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

void Put(const CriContainer& container, ::runtime::v1::Container& to) {
  to.set_id(container.id);
  to.mutable_metadata()->set_name(container.container);
  to.set_state(container.is_running ? ::runtime::v1::CONTAINER_RUNNING
                                    : ::runtime::v1::CONTAINER_EXITED);
  auto& labels = *to.mutable_labels();
  labels["io.kubernetes.container.name"] = container.container;
  labels["io.kubernetes.pod.name"] = container.pod;
  labels["io.kubernetes.pod.namespace"] = container.name_space;
  labels["io.kubernetes.pod.uid"] = container.pod_uid;
}

class CriService final : public ::runtime::v1::RuntimeService::CallbackService {
 public:
  CriService(EventLoop& loop, CriServer::Source source) : loop_(loop), source_(std::move(source)) {}

  ServerUnaryReactor* Version(CallbackServerContext* context, const ::runtime::v1::VersionRequest*,
                              ::runtime::v1::VersionResponse* reply) override {
    reply->set_version("0.1.0");
    reply->set_runtime_name("kgpu-sim");
    reply->set_runtime_version("1.0.0");
    reply->set_runtime_api_version("v1");
    return Finish(context);
  }
  ServerUnaryReactor* Status(CallbackServerContext* context, const ::runtime::v1::StatusRequest*,
                             ::runtime::v1::StatusResponse*) override {
    return Finish(context);
  }
  ServerUnaryReactor* ListContainers(CallbackServerContext*,
                                     const ::runtime::v1::ListContainersRequest*,
                                     ::runtime::v1::ListContainersResponse* reply) override {
    const std::shared_ptr<ServedCall> call = calls_.Accept();
    loop_.Post(lifeline_.Guard([this, call, reply] {
      ++lists_;
      // Under the call's lock: the response is gone once the call is over.
      call->Fill([&] {
        for (const CriContainer& container : source_()) {
          Put(container, *reply->add_containers());
        }
      });
      call->Reply(grpc::Status::OK);
    }));
    return call.get();
  }

  void Close() { calls_.Close(); }
  int lists() const { return lists_; }

 private:
  static ServerUnaryReactor* Finish(CallbackServerContext* context) {
    ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  EventLoop& loop_;
  CriServer::Source source_;
  ServedCalls calls_;
  int lists_ = 0;
  Lifeline lifeline_;
};

}  // namespace

struct CriServer::State {
  State(EventLoop& loop, Source source) : service(loop, std::move(source)) {}

  CriService service;
  std::unique_ptr<rpc::Server> server;
  std::unique_ptr<ServerSocket> socket;
};

StatusOr<std::unique_ptr<CriServer>> CriServer::Start(EventLoop& loop, const std::string& path,
                                                      Source source) {
  auto state = std::make_unique<State>(loop, std::move(source));
  ASSIGN_OR_RETURN(state->server, rpc::Server::Start({&state->service}));
  ASSIGN_OR_RETURN(state->socket,
                   ServerSocket::Bind(loop, path, [server = state->server.get()](UniqueFd fd) {
                     server->Serve(std::move(fd));
                   }));
  RETURN_IF_ERROR(state->socket->Listen());
  return std::unique_ptr<CriServer>(new CriServer(std::move(state)));
}

CriServer::CriServer(std::unique_ptr<State> state) : state_(std::move(state)) {
}

CriServer::~CriServer() {
  state_->socket.reset();
  state_->service.Close();
  state_->server.reset();
}

int CriServer::calls() const {
  return state_->service.lists();
}

}  // namespace kgpu::kubelet
