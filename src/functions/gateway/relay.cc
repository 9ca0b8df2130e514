#include "src/functions/gateway/relay.h"

#include <utility>

#include "src/functions/service/function_call.h"
#include "src/platform/base/strings.h"

namespace kgpu::gateway {
namespace {

// An answer up to this size is sent with its length, in one piece.
constexpr size_t kMaxWhole = size_t{64} << 10;
// How far a caller may be behind before the service is not read on until it has caught up. What is
// on its way in sockets, and in the output of HTTP/2, keeps it busy meanwhile.
constexpr size_t kFarBehind = size_t{256} << 10;

constexpr int kTooMany = 429;
constexpr int kInternalError = 500;
constexpr int kBadGateway = 502;
constexpr int kNoService = 503;
constexpr int kTimedOut = 504;

// 204 and 304 have no body, whatever their header says.
bool IsWhole(int code, const http::Headers& headers) {
  if (code == 204 || code == 304) {
    return true;
  }
  const std::optional<uint64_t> length = ParseUint(headers.Find("Content-Length").value_or(""));
  return length && *length <= kMaxWhole;
}

int CodeOfFailure(const Status& status) {
  switch (status.code()) {
    case StatusCode::kInvalidArgument:
      return 400;
    case StatusCode::kResourceExhausted:
      return kTooMany;
    case StatusCode::kPermissionDenied:
      return kInternalError;  // ours, not the caller's
    default:
      return kNoService;
  }
}

}  // namespace

Relay::Relay(EventLoop& loop, Upstream& upstream, http::Request request,
             std::unique_ptr<Caller> caller, std::optional<SteadyTime> deadline, Done done)
    : loop_(loop),
      caller_(std::move(caller)),
      done_(std::move(done)),
      is_head_(request.method == "HEAD"),
      deadline_(loop) {
  if (deadline) {
    deadline_.Arm(*deadline - loop_.clock().Now(), [this] {
      Fail(kTimedOut, "the caller's deadline passed before the answer was complete",
           UpstreamFault::kDeadline);
    });
  }
  caller_->OnGone([this] { Finish(kCallerLeftCode, UpstreamFault::kNone); });
  exchange_ = upstream.Start(
      std::move(request),
      {.on_head = [this](int code, const http::Headers& headers) { OnHead(code, headers); },
       .on_data = [this](std::string_view bytes) { OnData(bytes); },
       .on_end = [this](const Status& status) { OnEnd(status); }});
}

Relay::~Relay() = default;

void Relay::OnHead(int code, const http::Headers& headers) {
  code_ = code;
  is_whole_ = is_head_ || IsWhole(code, headers);
  http::Response head{.code = code, .headers = functions::EndToEnd(headers)};
  if (const auto length = headers.Find("Content-Length"); length && is_head_) {
    head.headers.Add("Content-Length", *length);
  }
  if (is_whole_) {
    answer_ = std::move(head);
  } else {
    caller_->Begin(std::move(head));
  }
}

void Relay::OnData(std::string_view bytes) {
  if (is_whole_) {
    answer_.body += bytes;
    return;
  }
  if (!caller_->Write(bytes)) {
    return Finish(kCallerLeftCode, UpstreamFault::kNone);
  }
  if (!is_paused_ && caller_->pending() > kFarBehind) {
    is_paused_ = true;
    exchange_->Pause();
    caller_->OnDrained([this] { OnDrained(); });
  }
}

void Relay::OnDrained() {
  if (!caller_->is_open()) {
    return Finish(kCallerLeftCode, UpstreamFault::kNone);
  }
  is_paused_ = false;
  if (const Status status = exchange_->Resume(); !status.ok()) {
    Fail(kNoService, Message(status), UpstreamFault::kCut);
  }
}

void Relay::OnEnd(const Status& status) {
  if (status.ok()) {
    if (is_whole_) {
      caller_->Send(std::move(answer_));
    } else {
      caller_->End();
    }
    return Finish(code_, UpstreamFault::kNone);
  }
  if (exchange_->was_handed_over()) {
    return Fail(kBadGateway,
                fmt::format("the function service ended during the request, which may have been "
                            "carried out: {}",
                            Message(status)),
                UpstreamFault::kCut);
  }
  Fail(CodeOfFailure(status), Message(status), UpstreamFault::kConnect);
}

void Relay::Fail(int code, std::string_view text, UpstreamFault fault) {
  caller_->Fail(code, text);
  Finish(code, fault);
}

void Relay::Finish(int code, UpstreamFault fault) {
  // Destroys this.
  if (const Done done = std::exchange(done_, nullptr)) {
    done({.code = code, .fault = fault});
  }
}

}  // namespace kgpu::gateway
