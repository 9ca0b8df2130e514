#include "src/functions/replicas/proxied_call.h"

#include <algorithm>

#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/net/http/writer.h"

namespace kgpu::functions {
namespace {

constexpr std::chrono::seconds kConnectLimit{3};
constexpr int kBadGateway = 502;
constexpr int kWatchdogAway = 503;
constexpr int kTimedOut = 504;

// Source: docs/how-it-works/function-watchdog.md: the handler has not seen the call.
bool IsUntaken(int code, const http::Headers& headers) {
  const std::string_view fault = headers.Find(kFaultHeader).value_or("");
  return code == kWatchdogAway && (fault == "stopping" || fault == "starting");
}

}  // namespace

StatusOr<std::unique_ptr<ProxiedCall>> ProxiedCall::Start(
    EventLoop& loop, std::shared_ptr<http::ClientConnection> connection, FunctionCall& call,
    const Options& options, Done done) {
  ASSIGN_OR_RETURN(std::string head, http::RequestHead(call.request, "localhost", true));
  http::OutputQueue request;
  request.Append(std::move(head));
  request.Append(options.gives_back ? call.request.body : std::move(call.request.body));
  const bool is_head = call.request.method == "HEAD";
  // From here on it counts as handed over.
  if (!options.gives_back) {
    call.request = {};
  }
  auto limit = options.limit;
  if (call.deadline) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(*call.deadline - loop.clock().Now());
    limit = std::min(limit, std::max(left, std::chrono::milliseconds(0)));
  }
  std::unique_ptr<ProxiedCall> proxied(new ProxiedCall(loop, std::move(connection), std::move(call),
                                                       options.gives_back, std::move(done)));
  ProxiedCall* self = proxied.get();
  self->deadline_.Arm(limit, [self] { self->Finish(kTimedOut, true); });
  if (options.gives_back) {
    // A node that is lost does not refuse connections.
    self->connecting_.Arm(kConnectLimit, [self] {
      if (self->code_ == 0 && !self->connection_->has_sent()) {
        self->Finish(kNotTaken, false);
      }
    });
  }
  // Closing the connection tells the watchdog that nobody waits.
  self->call_.sink->OnGone(self->lifetime_.Bind([self] { self->Finish(kCallerLeft, false); }));
  self->connection_->Send(
      request, is_head,
      {.on_head = [self](int code, const http::Headers& headers) { self->OnHead(code, headers); },
       .on_data = [self](std::string_view bytes) { self->OnData(bytes); },
       .on_end = [self](const Status& status) { self->OnEnd(status); }});
  return proxied;
}

ProxiedCall::ProxiedCall(EventLoop& loop, std::shared_ptr<http::ClientConnection> connection,
                         FunctionCall call, bool gives_back, Done done)
    : connection_(std::move(connection)),
      call_(std::move(call)),
      gives_back_(gives_back),
      done_(std::move(done)),
      deadline_(loop),
      connecting_(loop) {
}

ProxiedCall::~ProxiedCall() {
  if (connection_ != nullptr) {
    connection_->Close();
  }
}

std::shared_ptr<http::ClientConnection> ProxiedCall::TakeConnection() {
  const bool is_reusable = has_ended_ && connection_ != nullptr && connection_->IsReusable();
  return is_reusable ? std::move(connection_) : nullptr;
}

void ProxiedCall::OnHead(int code, const http::Headers& headers) {
  if (gives_back_ && IsUntaken(code, headers)) {
    is_refused_ = true;
    return;
  }
  call_.request = {};
  code_ = code;
  call_.sink->Head(code, headers);
}

void ProxiedCall::OnData(std::string_view bytes) {
  if (is_refused_) {
    return;
  }
  if (!call_.sink->Data(bytes)) {
    return Finish(kCallerLeft, false);
  }
  if (!call_.sink->is_behind()) {
    return;
  }
  connection_->Pause();
  call_.sink->OnDrained(lifetime_.Bind([this] {
    if (connection_ == nullptr) {
      return;
    }
    if (const Status status = connection_->Resume(); !status.ok()) {
      KGPU_LOG(kWarning, "call cut off", {"call", call_.call_id}, {"reason", Message(status)});
      Finish(kBadGateway, true);
    }
  }));
}

void ProxiedCall::OnEnd(const Status& status) {
  has_ended_ = status.ok();
  if (is_refused_ || (!status.ok() && gives_back_ && code_ == 0 && !connection_->has_sent())) {
    return Finish(kNotTaken, false);
  }
  if (status.ok()) {
    call_.sink->End();
    return Finish(code_, false);
  }
  Finish(kBadGateway, true);
}

void ProxiedCall::Finish(int code, bool is_lost) {
  deadline_.Cancel();
  connecting_.Cancel();
  if (is_lost && code_ == 0) {
    call_.sink->Refuse(code == kTimedOut
                           ? CallFault{code, "timeout", "the function did not answer in time"}
                           : CallFault{code, "crash", "the replica ended during the call"});
  }
  // Destroys this.
  if (const Done done = std::exchange(done_, nullptr)) {
    done(*this, code);
  }
}

}  // namespace kgpu::functions
