// Shared by both kinds of endpoint: service, server, socket and status texts.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/node/plugin/endpoint.h"
#include "src/node/plugin/service.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/net/rpc/server.h"
#include "src/platform/sys/acceptor.h"

namespace kgpu::plugin {

class EndpointCore {
 public:
  // `more` are services besides DevicePlugin, which must outlive the core. Errors: Internal.
  static StatusOr<std::unique_ptr<EndpointCore>> Create(EventLoop& loop, std::string resource,
                                                        std::string socket_path,
                                                        std::function<void()> changed,
                                                        Service::Events events,
                                                        std::vector<grpc::Service*> more);
  ~EndpointCore();
  EndpointCore(const EndpointCore&) = delete;
  EndpointCore& operator=(const EndpointCore&) = delete;

  EventLoop& loop() { return loop_; }
  Service& service() { return service_; }
  const EndpointStatus& known() const { return status_; }
  EndpointStatus status() const;

  // Creates the socket if it is not in place. Returns whether it is there now.
  bool EnsureSocket();
  // Removes the socket; EnsureSocket creates another.
  void DropSocket() { acceptor_.reset(); }

  // Stores the state and, if it is new, logs it and notifies.
  void SetState(EndpointState state, std::string reason);
  void CountRegistration(bool is_good);

 private:
  EndpointCore(EventLoop& loop, std::string resource, std::string socket_path,
               std::function<void()> changed, Service::Events events);

  EventLoop& loop_;
  std::function<void()> changed_;
  EndpointStatus status_;
  Service service_;
  std::unique_ptr<rpc::Server> server_;
  std::unique_ptr<sys::Acceptor> acceptor_;
};

}  // namespace kgpu::plugin
