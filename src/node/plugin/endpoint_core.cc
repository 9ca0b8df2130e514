#include "src/node/plugin/endpoint_core.h"

#include <grpcpp/impl/service_type.h>

#include <algorithm>
#include <array>
#include <utility>

#include "src/platform/base/log.h"

namespace kgpu::plugin {

std::string_view ToString(EndpointState state) {
  constexpr std::array<std::string_view, 3> kNames = {"Waiting", "Registering", "Registered"};
  return kNames[static_cast<size_t>(state)];
}

std::string SocketName(std::string_view resource) {
  constexpr size_t kLimit = 60;
  std::string name = fmt::format("kgpu-{}", resource);
  std::ranges::replace(name, '/', '_');
  if (name.size() > kLimit) {
    uint32_t hash = 2166136261;
    for (const char c : resource) {
      hash = (hash ^ static_cast<unsigned char>(c)) * 16777619;
    }
    name = fmt::format("{}-{:08x}", name.substr(0, kLimit - 9), hash);
  }
  return name + ".sock";
}

StatusOr<std::unique_ptr<EndpointCore>> EndpointCore::Create(EventLoop& loop, std::string resource,
                                                             std::string socket_path,
                                                             std::function<void()> changed,
                                                             Service::Events events,
                                                             std::vector<grpc::Service*> more) {
  std::unique_ptr<EndpointCore> core(new EndpointCore(
      loop, std::move(resource), std::move(socket_path), std::move(changed), std::move(events)));
  more.push_back(&core->service_.grpc_service());
  auto server = rpc::Server::Start(more);
  if (!server.ok()) {
    return server.status();
  }
  core->server_ = *std::move(server);
  return core;
}

EndpointCore::EndpointCore(EventLoop& loop, std::string resource, std::string socket_path,
                           std::function<void()> changed, Service::Events events)
    : loop_(loop), changed_(std::move(changed)), service_(loop, std::move(events)) {
  status_.resource = std::move(resource);
  status_.socket = std::move(socket_path);
}

EndpointCore::~EndpointCore() {
  acceptor_.reset();
  if (service_.Stop()) {  // before the server, which waits for calls in progress
    server_->Drain();     // so that the kubelet gets the reason
  }
}

EndpointStatus EndpointCore::status() const {
  EndpointStatus status = status_;
  status.counts = service_.counts();
  return status;
}

bool EndpointCore::EnsureSocket() {
  if (acceptor_ && acceptor_->IsInPlace()) {
    return true;
  }
  acceptor_.reset();
  auto listener = sys::UnixListener::Listen(status_.socket, {});
  if (!listener.ok()) {
    SetState(EndpointState::kWaiting, std::string(Message(listener.status())));
    return false;
  }
  auto acceptor = sys::Acceptor::Create(loop_, *std::move(listener),
                                        [this](UniqueFd fd) { server_->Serve(std::move(fd)); });
  if (!acceptor.ok()) {
    SetState(EndpointState::kWaiting, std::string(Message(acceptor.status())));
    return false;
  }
  acceptor_ = *std::move(acceptor);
  return true;
}

void EndpointCore::SetState(EndpointState state, std::string reason) {
  if (state == status_.state && reason == status_.reason) {
    return;
  }
  if (state == EndpointState::kRegistered) {
    KGPU_LOG(kInfo, "resource registered", {"resource", status_.resource},
             {"socket", status_.socket});
  } else if (!reason.empty() && reason != status_.reason) {
    KGPU_LOG(kInfo, "resource not registered", {"resource", status_.resource}, {"reason", reason});
  }
  status_.state = state;
  status_.reason = std::move(reason);
  changed_();
}

void EndpointCore::CountRegistration(bool is_good) {
  ++(is_good ? status_.registrations : status_.failed_registrations);
}

}  // namespace kgpu::plugin
