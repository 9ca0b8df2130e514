// The DRA driver's gRPC services for the kubelet, v1 and v1beta1, and the health of its devices:
// gRPC's types end here.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/node/claims/preparer.h"
#include "src/platform/base/event_loop.h"

namespace grpc {
class Service;
}

namespace kgpu::claims {

// As the kubelet knows it. Source: DRAResourceHealth, DeviceHealth.
struct DeviceHealth {
  std::string pool{};
  std::string device{};
  bool is_healthy = true;
  std::string message{};  // why it is not healthy
  bool operator==(const DeviceHealth&) const = default;
};

// Loop thread. Handlers run on gRPC's threads, and pass calls to the loop.
class ClaimService {
 public:
  // `preparer` is called on the loop, until the service is destroyed.
  ClaimService(EventLoop& loop, Preparer& preparer);
  ~ClaimService();
  ClaimService(const ClaimService&) = delete;
  ClaimService& operator=(const ClaimService&) = delete;

  // v1, v1beta1 and health; destroy the rpc::Server that serves them first.
  std::vector<grpc::Service*> grpc_services();

  // Sends the whole list on every open stream. The kubelet forgets an entry after 30 s: call it
  // every ten.
  void SendHealth(std::vector<DeviceHealth> devices);
  // Ends streams and waiting calls for good: the server can then end without waiting.
  void Stop();

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace kgpu::claims
