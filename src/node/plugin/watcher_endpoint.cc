// Registration by the plugin watcher: the kubelet finds our socket in plugins_registry/ and asks.
// One socket serves both services.
#include <optional>
#include <utility>

#include "src/node/plugin/endpoint.h"
#include "src/node/plugin/endpoint_core.h"
#include "src/node/plugin/kubelet.h"
#include "src/node/plugin/watcher_registration.h"
#include "src/platform/base/backoff.h"
#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/timer.h"

namespace kgpu::plugin {
namespace {

// Pause after the end of a stream, before the socket is made again: a kubelet that restarts finds
// the old one by itself.
constexpr std::chrono::milliseconds kOwnReturn{200};

class WatcherEndpoint final : public Endpoint {
 public:
  static StatusOr<std::unique_ptr<Endpoint>> Create(EventLoop& loop, const std::string& resource,
                                                    const EndpointOptions& options,
                                                    std::function<void()> changed) {
    std::unique_ptr<WatcherEndpoint> self(new WatcherEndpoint(loop, resource, options));
    const std::string socket = fmt::format(
        "{}/{}", KubeletPaths(options.kubelet_dir).plugins_registry, SocketName(resource));
    ASSIGN_OR_RETURN(
        self->core_,
        EndpointCore::Create(loop, resource, socket, std::move(changed),
                             {.on_stream_opened = [endpoint = self.get()] { endpoint->OnOpened(); },
                              .on_stream_ended = [endpoint = self.get()] { endpoint->OnEnded(); }},
                             {&self->registration_.grpc_service()}));
    self->registration_.SetNotice(
        [endpoint = self.get()](bool is_registered, const std::string& error) {
          endpoint->OnNotice(is_registered, error);
        });
    return self;
  }

  ~WatcherEndpoint() override = default;

  void SetView(ResourceViewPtr view) override {
    core_->service().SetView(std::move(view));
    has_view_ = true;
    Look();
  }

  void Look() override {
    if (!has_view_ || renew_.is_armed() || !core_->EnsureSocket()) {
      return;
    }
    if (core_->service().open_streams() > 0) {
      // Again, where the socket had been away meanwhile.
      core_->SetState(EndpointState::kRegistered, "");
    } else if (core_->known().reason.empty()) {
      core_->SetState(EndpointState::kWaiting, "the kubelet has not discovered the plugin yet");
    }
  }

  EndpointStatus status() const override { return core_->status(); }

 private:
  WatcherEndpoint(EventLoop& loop, const std::string& resource, const EndpointOptions& options)
      : loop_(loop),
        options_(options),
        backoff_({.first = options.first_backoff, .longest = options.last_backoff}),
        registration_(loop, {.type = "DevicePlugin", .name = resource, .versions = {"v1beta1"}}) {}

  void OnOpened() {
    opened_at_ = loop_.clock().Now();
    renew_.Cancel();
    await_.Cancel();
    core_->SetState(EndpointState::kRegistered, "");
  }

  void OnEnded() {
    if (core_->service().open_streams() > 0) {
      return;
    }
    core_->SetState(EndpointState::kWaiting, "the kubelet stopped reading the device list");
    if (loop_.clock().Now() - opened_at_ >= options_.settled) {
      backoff_.Reset();
      RenewIn(kOwnReturn);
    } else {
      RenewIn(kOwnReturn + backoff_.Next(loop_.clock().Now()));
    }
  }

  void OnNotice(bool is_registered, const std::string& error) {
    core_->CountRegistration(is_registered);
    if (is_registered) {
      AwaitStream();
    } else {
      // The kubelet retries by itself.
      core_->SetState(EndpointState::kWaiting,
                      fmt::format("the kubelet rejected the registration: {}", error));
    }
  }

  // A stream that broke before it reached us is never tried again by the kubelet.
  void AwaitStream() {
    if (core_->service().open_streams() > 0 || renew_.is_armed()) {
      return;
    }
    await_.Arm(options_.stream_deadline, [this] {
      core_->SetState(EndpointState::kWaiting,
                      "the kubelet accepted the registration but does not read the device list");
      RenewIn(backoff_.Next(loop_.clock().Now()));
    });
  }

  void RenewIn(std::chrono::nanoseconds delay) {
    renew_.Arm(delay, [this] {
      // As long as the socket stays the kubelet does not connect again.
      core_->DropSocket();
      Look();
    });
  }

  EventLoop& loop_;
  const EndpointOptions options_;
  Backoff backoff_;
  WatcherRegistration registration_;
  std::unique_ptr<EndpointCore> core_;  // after registration_, which its server uses
  bool has_view_ = false;
  SteadyTime opened_at_{};
  Timer renew_{loop_};
  Timer await_{loop_};  // for the stream after a registration
};

}  // namespace

StatusOr<std::unique_ptr<Endpoint>> MakeWatcherEndpoint(EventLoop& loop,
                                                        const std::string& resource,
                                                        const EndpointOptions& options,
                                                        std::function<void()> changed) {
  return WatcherEndpoint::Create(loop, resource, options, std::move(changed));
}

}  // namespace kgpu::plugin
