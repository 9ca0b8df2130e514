// One resource on the kubelet: its socket, its server, its registration, for as long as it lives.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "src/node/plugin/service.h"
#include "src/node/plugin/view.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"

namespace kgpu::plugin {

struct EndpointOptions {
  std::string kubelet_dir = "/var/lib/kubelet";
  // The kubelet asks back during the call and gives itself ten seconds for that.
  std::chrono::milliseconds register_deadline{15'000};
  // After Register, or a call of the plugin watcher, until the stream must be there.
  std::chrono::milliseconds stream_deadline{10'000};
  std::chrono::milliseconds first_backoff{100};  // after a failure, doubles up to last_backoff
  std::chrono::milliseconds last_backoff{10'000};
  // A stream that has lived so long ends for reasons of its own: the next try is made at once.
  std::chrono::milliseconds settled{2'000};
};

enum class EndpointState {
  kWaiting,      // for the kubelet, or for the next try
  kRegistering,  // a call is in progress, or the stream is still awaited
  kRegistered,   // the kubelet reads our list
};

// "Waiting", …
std::string_view ToString(EndpointState state);

struct EndpointStatus {
  std::string resource;
  std::string socket;
  EndpointState state = EndpointState::kWaiting;
  std::string reason;          // why not registered, with the fix; empty when registered
  uint64_t registrations = 0;  // successful ones
  uint64_t failed_registrations = 0;
  ServiceCounts counts;
};

// Lives on the loop's thread. Never gives up, never blocks.
class Endpoint {
 public:
  virtual ~Endpoint() = default;

  virtual void SetView(ResourceViewPtr view) = 0;
  // Something changed in the kubelet's folders: look.
  virtual void Look() = 0;
  virtual EndpointStatus status() const = 0;
};

// `changed` is called on the loop whenever status() may have changed. The destructor ends streams
// and calls, and removes the socket. `loop` outlives the endpoint.
// Errors: Internal (gRPC does not start).
StatusOr<std::unique_ptr<Endpoint>> MakeSocketEndpoint(EventLoop& loop, const std::string& resource,
                                                       const EndpointOptions& options,
                                                       std::function<void()> changed);
StatusOr<std::unique_ptr<Endpoint>> MakeWatcherEndpoint(EventLoop& loop,
                                                        const std::string& resource,
                                                        const EndpointOptions& options,
                                                        std::function<void()> changed);

// "kgpu-nvidia.com_gpu.sock": a file name for the resource, at most 80 bytes, distinguished by a
// hash where it had to be cut.
std::string SocketName(std::string_view resource);

}  // namespace kgpu::plugin
