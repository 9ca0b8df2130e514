// A gRPC server that gets its connections from us: gRPC 1.51's own listener dies for good after one
// failed accept, and a kubelet restart must only re-bind a socket, not restart a server.
#pragma once

#include <memory>
#include <vector>

#include "src/platform/base/status.h"
#include "src/platform/base/unique_fd.h"

namespace grpc {
class Server;
class Service;
}  // namespace grpc

namespace kgpu::rpc {

// Handlers run on gRPC's threads. Owned by the owner of the services.
class Server {
 public:
  // Each of `services` must outlive the server. Errors: Internal.
  static StatusOr<std::unique_ptr<Server>> Start(const std::vector<grpc::Service*>& services);
  // Ends every call and connection, and waits for the handlers in progress. Answers that were just
  // given may not arrive, unless Drain comes first.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Serves the peer connected to `fd`, which must be non-blocking. Thread: any.
  void Serve(UniqueFd fd);

  // Takes no more calls, and waits until the answers of the others have gone. After a moment it
  // cancels those that are left, and waits for their handlers, as the destructor does.
  void Drain();

 private:
  explicit Server(std::unique_ptr<grpc::Server> server);

  std::unique_ptr<grpc::Server> server_;
};

}  // namespace kgpu::rpc
