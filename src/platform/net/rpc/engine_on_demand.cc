#include "src/platform/net/rpc/engine_on_demand.h"

#include <grpc/event_engine/event_engine.h>

#include <memory>
#include <mutex>
#include <utility>

namespace kgpu::rpc {
namespace {

using grpc_event_engine::experimental::CreateEventEngine;
using grpc_event_engine::experimental::EndpointConfig;
using grpc_event_engine::experimental::EventEngine;
using grpc_event_engine::experimental::EventEngineFactoryReset;
using grpc_event_engine::experimental::MemoryAllocator;
using grpc_event_engine::experimental::MemoryAllocatorFactory;
using grpc_event_engine::experimental::SetEventEngineFactory;

// gRPC's own engine behind the same interface.
class EngineOnDemand final : public EventEngine {
 public:
  absl::StatusOr<std::unique_ptr<Listener>> CreateListener(
      Listener::AcceptCallback on_accept, absl::AnyInvocable<void(absl::Status)> on_shutdown,
      const EndpointConfig& config, std::unique_ptr<MemoryAllocatorFactory> allocators) override {
    return engine().CreateListener(std::move(on_accept), std::move(on_shutdown), config,
                                   std::move(allocators));
  }
  ConnectionHandle Connect(OnConnectCallback on_connect, const ResolvedAddress& address,
                           const EndpointConfig& config, MemoryAllocator allocator,
                           Duration timeout) override {
    return engine().Connect(std::move(on_connect), address, config, std::move(allocator), timeout);
  }
  bool CancelConnect(ConnectionHandle handle) override { return engine().CancelConnect(handle); }
  bool IsWorkerThread() override { return engine().IsWorkerThread(); }
  std::unique_ptr<DNSResolver> GetDNSResolver(
      const DNSResolver::ResolverOptions& options) override {
    return engine().GetDNSResolver(options);
  }
  void Run(Closure* closure) override { engine().Run(closure); }
  void Run(absl::AnyInvocable<void()> closure) override { engine().Run(std::move(closure)); }
  TaskHandle RunAfter(Duration when, Closure* closure) override {
    return engine().RunAfter(when, closure);
  }
  TaskHandle RunAfter(Duration when, absl::AnyInvocable<void()> closure) override {
    return engine().RunAfter(when, std::move(closure));
  }
  bool Cancel(TaskHandle handle) override { return engine().Cancel(handle); }

 private:
  EventEngine& engine() {
    std::call_once(once_, [this] {
      EventEngineFactoryReset();  // from ours to gRPC's own
      engine_ = CreateEventEngine();
    });
    return *engine_;
  }

  std::once_flag once_;
  std::unique_ptr<EventEngine> engine_;
};

}  // namespace

void MakeEngineOnDemand() {
  static const bool is_set = [] {
    SetEventEngineFactory([] { return std::make_unique<EngineOnDemand>(); });
    return true;
  }();
  (void)is_set;
}

}  // namespace kgpu::rpc
