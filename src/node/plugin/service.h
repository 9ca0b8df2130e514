// The DevicePlugin service of one resource: gRPC's types end here. Handlers run on gRPC's threads;
// they read the current view and never wait for the loop.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "src/node/plugin/latency.h"
#include "src/node/plugin/view.h"
#include "src/platform/base/event_loop.h"

namespace grpc {
class Service;
}

namespace kgpu::plugin {

// Counters for metrics and status; they never decrease.
struct ServiceCounts {
  uint64_t allocations = 0;
  uint64_t failed_allocations = 0;
  uint64_t preferences = 0;
  uint64_t lists_sent = 0;
  LatencyCounts allocation_latency{};
  LatencyCounts preference_latency{};
};

class Service {
 public:
  struct Events {
    // All are called on the loop's thread.
    std::function<void()> on_stream_opened;
    std::function<void()> on_stream_ended;  // for any reason, after the last byte
  };

  // How long Allocate waits for a view with answers.
  static constexpr std::chrono::seconds kPatience{10};

  // `loop` must outlive the service; destroy the rpc::Server that serves it first. Loop
  // thread.
  Service(EventLoop& loop, Events events);
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  grpc::Service& grpc_service();

  // Sends the list on every open stream if it differs from the last one, and answers waiting calls.
  // Loop thread.
  void SetView(const ResourceViewPtr& view);
  // Ends every open stream; on_stream_ended follows for each. Loop thread.
  void EndStreams();
  // Ends streams and waiting calls for good: the server can then end without waiting. True if calls
  // waited, whose answers are on their way. Loop thread.
  bool Stop();
  // Open streams, according to the events. Loop thread.
  unsigned open_streams() const;
  ServiceCounts counts() const;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace kgpu::plugin
