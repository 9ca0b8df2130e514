#include "testing/kubelet/registration_server.h"

#include <deviceplugin_v1beta1.grpc.pb.h>

#include <utility>

#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/net/rpc/server.h"
#include "testing/kubelet/lifeline.h"
#include "testing/kubelet/served_call.h"
#include "testing/kubelet/server_socket.h"

namespace kgpu::kubelet {
namespace {

class Call final : public RegisterCall {
 public:
  Call(RegisterRequest request, std::shared_ptr<ServedCall> served)
      : request_(std::move(request)), served_(std::move(served)) {}

  const RegisterRequest& request() const override { return request_; }
  void Reply(const Status& status) override {
    served_->Reply(status.ok()
                       ? grpc::Status::OK
                       : grpc::Status(grpc::StatusCode::UNKNOWN, std::string(Message(status))));
  }

 private:
  RegisterRequest request_;
  std::shared_ptr<ServedCall> served_;
};

class RegistrationService final : public v1beta1::Registration::CallbackService {
 public:
  using Receive = std::function<void(const std::shared_ptr<RegisterCall>&)>;

  RegistrationService(EventLoop& loop, Receive receive)
      : loop_(loop), receive_(std::move(receive)) {}

  grpc::ServerUnaryReactor* Register(grpc::CallbackServerContext*,
                                     const v1beta1::RegisterRequest* message,
                                     v1beta1::Empty*) override {
    const std::shared_ptr<ServedCall> served = calls_.Accept();
    auto call = std::make_shared<Call>(
        RegisterRequest{message->version(), message->endpoint(), message->resource_name()}, served);
    loop_.Post([receive = receive_, call] { receive(call); });
    served->OnCancelled([&loop = loop_, call] {
      loop.Post([call] {
        if (const auto task = std::exchange(call->on_cancelled, nullptr)) {
          task();
        }
      });
    });
    return served.get();
  }

  void Close() { calls_.Close(); }

 private:
  EventLoop& loop_;
  Receive receive_;
  ServedCalls calls_;
};

}  // namespace

struct RegistrationServer::State {
  State(EventLoop& on_loop, Handler handler)
      : loop(on_loop), service(on_loop, lifeline.Guard(std::move(handler))) {}

  EventLoop& loop;
  Lifeline lifeline;
  RegistrationService service;
  std::unique_ptr<rpc::Server> server;
  std::unique_ptr<ServerSocket> socket;
  TimerId listen_timer = TimerId::kNone;
};

StatusOr<std::unique_ptr<RegistrationServer>> RegistrationServer::Start(
    EventLoop& loop, const std::string& path, std::chrono::nanoseconds listen_delay,
    Handler handler) {
  auto state = std::make_unique<State>(loop, std::move(handler));
  ASSIGN_OR_RETURN(state->server, rpc::Server::Start({&state->service}));
  ASSIGN_OR_RETURN(state->socket,
                   ServerSocket::Bind(loop, path, [server = state->server.get()](UniqueFd fd) {
                     server->Serve(std::move(fd));
                   }));
  if (listen_delay.count() == 0) {
    RETURN_IF_ERROR(state->socket->Listen());
  } else {
    state->listen_timer = loop.After(listen_delay, [socket = state->socket.get()] {
      if (const Status status = socket->Listen(); !status.ok()) {
        KGPU_LOG(kError, "kubelet.sock not listening", {"reason", Message(status)});
      }
    });
  }
  return std::unique_ptr<RegistrationServer>(new RegistrationServer(std::move(state)));
}

RegistrationServer::RegistrationServer(std::unique_ptr<State> state) : state_(std::move(state)) {
}

RegistrationServer::~RegistrationServer() {
  state_->loop.CancelTimer(state_->listen_timer);
  state_->socket.reset();
  state_->service.Close();
  state_->server.reset();
}

void RegistrationServer::CutConnections() {
  state_->socket->CutConnections();
}

}  // namespace kgpu::kubelet
