#include "src/platform/net/rpc/server.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/server_posix.h>

#include <chrono>
#include <utility>

#include "src/platform/net/rpc/engine_on_demand.h"

namespace kgpu::rpc {

StatusOr<std::unique_ptr<Server>> Server::Start(const std::vector<grpc::Service*>& services) {
  MakeEngineOnDemand();
  grpc::ServerBuilder builder;
  for (grpc::Service* service : services) {
    builder.RegisterService(service);
  }
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) {
    return Internal("gRPC could not start a server");
  }
  return std::unique_ptr<Server>(new Server(std::move(server)));
}

Server::Server(std::unique_ptr<grpc::Server> server) : server_(std::move(server)) {
}

Server::~Server() {
  // A deadline in the past: calls in progress are cancelled at once.
  server_->Shutdown(std::chrono::system_clock::now());
}

void Server::Drain() {
  constexpr std::chrono::milliseconds kMoment{200};
  server_->Shutdown(std::chrono::system_clock::now() + kMoment);
}

void Server::Serve(UniqueFd fd) {
  grpc::AddInsecureChannelFromFd(server_.get(), fd.Release());
}

}  // namespace kgpu::rpc
