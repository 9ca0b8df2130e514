// Registration on kubelet.sock. Source: the kubelet's device manager;
// docs/how-it-works/device-plugin.md has the traps this file steers around.
#include <optional>
#include <utility>

#include "src/node/plugin/endpoint.h"
#include "src/node/plugin/endpoint_core.h"
#include "src/node/plugin/kubelet.h"
#include "src/node/plugin/refused_pause.h"
#include "src/platform/base/backoff.h"
#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/timer.h"
#include "src/platform/net/rpc/one_call.h"

namespace kgpu::plugin {
namespace {

using std::chrono::milliseconds;

// How long an old stream may take to end before we register anyway.
constexpr milliseconds kStreamEnd{1000};

class SocketEndpoint final : public Endpoint {
 public:
  static StatusOr<std::unique_ptr<Endpoint>> Create(EventLoop& loop, std::string resource,
                                                    const EndpointOptions& options,
                                                    std::function<void()> changed) {
    std::unique_ptr<SocketEndpoint> self(new SocketEndpoint(loop, options));
    const std::string socket =
        fmt::format("{}/{}", self->paths_.device_plugins, SocketName(resource));
    ASSIGN_OR_RETURN(
        self->core_,
        EndpointCore::Create(loop, std::move(resource), socket, std::move(changed),
                             {.on_stream_opened = [endpoint = self.get()] { endpoint->OnOpened(); },
                              .on_stream_ended = [endpoint = self.get()] { endpoint->OnEnded(); }},
                             {}));
    return self;
  }

  ~SocketEndpoint() override = default;

  void SetView(ResourceViewPtr view) override {
    core_->service().SetView(std::move(view));
    has_view_ = true;
    Look();
  }
  void Look() override;
  EndpointStatus status() const override { return core_->status(); }

 private:
  SocketEndpoint(EventLoop& loop, const EndpointOptions& options)
      : loop_(loop),
        options_(options),
        paths_(options.kubelet_dir),
        backoff_({.first = options.first_backoff, .longest = options.last_backoff}) {}

  bool IsDone(const SocketIdentity& kubelet);
  void Register(const SocketIdentity& kubelet);
  void OnConnectFailed(const SocketIdentity& kubelet, const Status& status);
  void OnRegistered(const SocketIdentity& kubelet, const Status& status);
  void OnOpened();
  void OnEnded();
  void Fail(const SocketIdentity& kubelet, std::string reason);
  void RetryIn(std::chrono::nanoseconds delay);
  void AwaitStream(const SocketIdentity& kubelet);

  EventLoop& loop_;
  const EndpointOptions options_;
  const KubeletPaths paths_;
  Backoff backoff_;
  std::unique_ptr<EndpointCore> core_;
  bool has_view_ = false;

  std::unique_ptr<rpc::PendingCall> call_;
  std::optional<SocketIdentity> called_;      // the kubelet that call_ goes to
  std::optional<SocketIdentity> registered_;  // the kubelet that knows us
  std::optional<SocketIdentity> failed_;      // the kubelet that retry_ backs off from
  std::optional<SteadyTime> refused_since_;
  SteadyTime opened_at_{};
  bool is_ending_ = false;  // we ended the old streams in order to register
  Timer retry_{loop_};
  Timer await_{loop_};  // for the stream after Register, or for old streams to end
};

void SocketEndpoint::Look() {
  if (!has_view_) {
    return;  // a resource without a first list would be shown with capacity 0
  }
  if (!core_->EnsureSocket()) {
    return;
  }
  const std::optional<SocketIdentity> kubelet = IdentityOf(paths_.registration_socket);
  if (!kubelet) {
    call_.reset();
    registered_.reset();
    core_->SetState(
        EndpointState::kWaiting,
        fmt::format(
            "{}: not found: the kubelet is not running, or uses another folder (--kubelet-dir)",
            paths_.registration_socket));
    return;
  }
  if (call_ && called_ != kubelet) {
    call_.reset();  // it went to a kubelet that is gone
  }
  if (registered_ == kubelet && core_->service().open_streams() > 0) {
    // Again, where the socket had been away meanwhile.
    core_->SetState(EndpointState::kRegistered, "");
  }
  if (!call_ && !IsDone(*kubelet)) {
    Register(*kubelet);
  }
}

// Whether nothing is to be done for `kubelet` now.
bool SocketEndpoint::IsDone(const SocketIdentity& kubelet) {
  if (registered_ == kubelet) {
    return core_->service().open_streams() > 0 || await_.is_armed();
  }
  if (failed_ == kubelet && retry_.is_armed()) {
    return true;
  }
  if (core_->service().open_streams() > 0 && !is_ending_) {
    // The kubelet forgets the new registration when an older stream ends after it: end that first.
    is_ending_ = true;
    core_->service().EndStreams();
    await_.Arm(kStreamEnd, [this] { Look(); });
    return true;
  }
  return is_ending_ && core_->service().open_streams() > 0 && await_.is_armed();
}

void SocketEndpoint::Register(const SocketIdentity& kubelet) {
  retry_.Cancel();
  await_.Cancel();
  is_ending_ = false;
  StatusOr<UniqueFd> fd = sys::ConnectUnix(paths_.registration_socket);
  if (!fd.ok()) {
    OnConnectFailed(kubelet, fd.status());
    return;
  }
  refused_since_.reset();
  called_ = kubelet;
  core_->SetState(EndpointState::kRegistering, core_->known().reason);
  call_ = StartRegister(
      loop_, *std::move(fd),
      {.endpoint = SocketName(core_->known().resource), .resource = core_->known().resource},
      options_.register_deadline,
      [this, kubelet](const Status& status) { OnRegistered(kubelet, status); });
}

void SocketEndpoint::OnConnectFailed(const SocketIdentity& kubelet, const Status& status) {
  if (status.code() != StatusCode::kUnavailable) {
    Fail(kubelet, std::string(Message(status)));
    return;
  }
  const SteadyTime now = loop_.clock().Now();
  if (!refused_since_ || failed_ != kubelet) {
    refused_since_ = now;
  }
  failed_ = kubelet;
  if (now - *refused_since_ >= milliseconds(1000)) {
    core_->SetState(EndpointState::kWaiting,
                    fmt::format("{}: check that the kubelet is running", Message(status)));
  }
  RetryIn(RefusedPause(now - *refused_since_));
}

void SocketEndpoint::OnRegistered(const SocketIdentity& kubelet, const Status& status) {
  call_.reset();
  core_->CountRegistration(status.ok());
  if (!status.ok()) {
    Fail(kubelet, fmt::format("the kubelet rejected the registration: {}", Message(status)));
    return;
  }
  registered_ = kubelet;
  failed_.reset();
  if (core_->service().open_streams() == 0) {
    AwaitStream(kubelet);
  } else {
    core_->SetState(EndpointState::kRegistered, "");
  }
}

void SocketEndpoint::AwaitStream(const SocketIdentity& kubelet) {
  await_.Arm(options_.stream_deadline, [this, kubelet] {
    registered_.reset();
    Fail(kubelet, "the kubelet accepted the registration but does not read the device list");
  });
}

void SocketEndpoint::OnOpened() {
  await_.Cancel();
  opened_at_ = loop_.clock().Now();
  core_->SetState(EndpointState::kRegistered, "");
}

void SocketEndpoint::OnEnded() {
  if (core_->service().open_streams() > 0) {
    return;
  }
  if (is_ending_) {
    await_.Cancel();
    is_ending_ = false;
    Look();
    return;
  }
  const std::optional<SocketIdentity> kubelet = std::exchange(registered_, std::nullopt);
  core_->SetState(EndpointState::kWaiting, "the kubelet stopped reading the device list");
  if (!kubelet || call_) {
    Look();
  } else if (loop_.clock().Now() - opened_at_ >= options_.settled) {
    backoff_.Reset();
    Look();
  } else {
    Fail(*kubelet, "the kubelet stopped reading the device list soon after it began");
  }
}

void SocketEndpoint::Fail(const SocketIdentity& kubelet, std::string reason) {
  failed_ = kubelet;
  core_->SetState(EndpointState::kWaiting, std::move(reason));
  RetryIn(backoff_.Next(loop_.clock().Now()));
}

void SocketEndpoint::RetryIn(std::chrono::nanoseconds delay) {
  retry_.Arm(delay, [this] { Look(); });
}

}  // namespace

StatusOr<std::unique_ptr<Endpoint>> MakeSocketEndpoint(EventLoop& loop, const std::string& resource,
                                                       const EndpointOptions& options,
                                                       std::function<void()> changed) {
  return SocketEndpoint::Create(loop, resource, options, std::move(changed));
}

}  // namespace kgpu::plugin
