#include "src/functions/provider/proxied_call.h"

#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/http/writer.h"
#include "src/platform/sys/unix_socket.h"

namespace kgpu::functions {
namespace {

constexpr http::ParserLimits kAnswerLimits{.header = size_t{64} << 10,
                                           .body = size_t{1} << 40};  // the watchdog has one
constexpr int kBadGateway = 502;
constexpr int kTimedOut = 504;

}  // namespace

StatusOr<std::unique_ptr<ProxiedCall>> ProxiedCall::Start(EventLoop& loop,
                                                          const std::string& socket,
                                                          FunctionCall& call,
                                                          std::chrono::milliseconds limit,
                                                          Done done) {
  ASSIGN_OR_RETURN(std::string text, http::RequestText(call.request, "localhost"));
  ASSIGN_OR_RETURN(UniqueFd connected, sys::ConnectUnix(socket));
  ASSIGN_OR_RETURN(auto connection, http::ClientConnection::Open(loop, std::move(connected),
                                                                 nullptr, socket, kAnswerLimits));
  // From here on it counts as handed over.
  call.request = {};
  std::unique_ptr<ProxiedCall> proxied(
      new ProxiedCall(loop, std::move(connection), call, std::move(done)));
  ProxiedCall* self = proxied.get();
  self->deadline_ = loop.After(limit, [self] { self->Finish(kTimedOut, true); });
  self->connection_->Send(
      std::move(text), false,
      {.on_head = [self](int code, const http::Headers& headers) { self->OnHead(code, headers); },
       .on_data = [self](std::string_view bytes) { self->OnData(bytes); },
       .on_end = [self](const Status& status) { self->OnEnd(status); }});
  return proxied;
}

ProxiedCall::ProxiedCall(EventLoop& loop, std::shared_ptr<http::ClientConnection> connection,
                         FunctionCall& call, Done done)
    : loop_(loop),
      connection_(std::move(connection)),
      sink_(std::move(call.sink)),
      arrived_(call.arrived),
      done_(std::move(done)) {
}

ProxiedCall::~ProxiedCall() {
  loop_.CancelTimer(deadline_);
  connection_->Close();
}

void ProxiedCall::OnHead(int code, const http::Headers& headers) {
  code_ = code;
  sink_->Head(code, headers);
}

void ProxiedCall::OnData(std::string_view bytes) {
  if (!sink_->Data(bytes)) {
    // Closing the connection tells the watchdog that nobody waits.
    Finish(kCallerLeft, false);
  }
}

void ProxiedCall::OnEnd(const Status& status) {
  if (status.ok()) {
    sink_->End();
    return Finish(code_, false);
  }
  Finish(kBadGateway, true);
}

void ProxiedCall::Finish(int code, bool is_lost) {
  loop_.CancelTimer(std::exchange(deadline_, TimerId::kNone));
  if (is_lost && code_ == 0) {
    sink_->Refuse(code == kTimedOut
                      ? CallFault{code, "timeout", "the function did not answer in time"}
                      : CallFault{code, "crash", "the replica ended during the call"});
  }
  // Destroys this.
  if (const Done done = std::exchange(done_, nullptr)) {
    done(code);
  }
}

}  // namespace kgpu::functions
