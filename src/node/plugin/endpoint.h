// One resource on the kubelet: its socket, server and registration, for as long as it exists.
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
  // The kubelet calls back during the call, and allows ten seconds for that.
  std::chrono::milliseconds register_deadline{15'000};
  // From Register, or a call of the plugin watcher, until the kubelet opens the stream.
  std::chrono::milliseconds stream_deadline{10'000};
  std::chrono::milliseconds first_backoff{100};  // after a failure; doubles up to last_backoff
  std::chrono::milliseconds last_backoff{10'000};
  // A stream that lasted this long ended for another reason: the next attempt is immediate.
  std::chrono::milliseconds settled{2'000};
};

enum class EndpointState {
  kWaiting,      // for the kubelet, or for the next attempt
  kRegistering,  // a call is in progress, or the stream is not open yet
  kRegistered,   // the kubelet reads our list
};

// "Waiting", …
std::string_view ToString(EndpointState state);

struct EndpointStatus {
  std::string resource;
  std::string socket;
  EndpointState state = EndpointState::kWaiting;
  std::string reason;          // why it is not registered, with the fix; empty if it is
  uint64_t registrations = 0;  // successful ones
  uint64_t failed_registrations = 0;
  ServiceCounts counts;
};

// Lives on the loop's thread. Never gives up, never blocks.
class Endpoint {
 public:
  virtual ~Endpoint() = default;

  virtual void SetView(ResourceViewPtr view) = 0;
  // Something changed in the kubelet's folders: check them.
  virtual void Look() = 0;
  virtual EndpointStatus status() const = 0;
};

// Calls `changed` on the loop whenever status() may have changed. The destructor ends streams and
// calls, and removes the socket. `loop` must outlive the endpoint. Errors: Internal (gRPC does not
// start).
StatusOr<std::unique_ptr<Endpoint>> MakeSocketEndpoint(EventLoop& loop, const std::string& resource,
                                                       const EndpointOptions& options,
                                                       std::function<void()> changed);
StatusOr<std::unique_ptr<Endpoint>> MakeWatcherEndpoint(EventLoop& loop,
                                                        const std::string& resource,
                                                        const EndpointOptions& options,
                                                        std::function<void()> changed);

// "kgpu-nvidia.com_gpu.sock": a file name for the resource, at most 80 bytes, with a hash if it had
// to be truncated.
std::string SocketName(std::string_view resource);

}  // namespace kgpu::plugin
