#include "src/functions/watchdog/http_caller.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "src/functions/watchdog/http_front.h"
#include "src/platform/base/strings.h"

namespace kgpu::watchdog {
namespace {

// Belong to the connection, or are ours to say.
constexpr std::array kNotForHandlers{
    "Connection", "Content-Length",    "Date",      "Keep-Alive",
    "Kgpu-Fault", "Proxy-Connection",  "TE",        "Trailer",
    "Upgrade",    "Transfer-Encoding", "X-Call-Id", "X-Duration-Seconds"};

bool IsForHandlers(std::string_view name) {
  return std::ranges::none_of(kNotForHandlers, [&](std::string_view other) {
    return http::EqualsIgnoringCase(name, other);
  });
}

bool HasNoBody(int status) {
  return status == 204 || status == 304;
}

}  // namespace

HttpCaller::HttpCaller(const Clock& clock, http::Responder responder, std::string id, bool is_head)
    : clock_(clock),
      started_(clock.Now()),
      id_(std::move(id)),
      is_head_(is_head),
      responder_(std::move(responder)) {
}

http::Response HttpCaller::ResponseHead() const {
  http::Response response{.code = head_.status};
  for (const auto& [name, value] : head_.headers.fields()) {
    if (IsForHandlers(name) || IsLength(name, value)) {
      response.headers.Add(name, value);
    }
  }
  if (!response.headers.Find("Content-Type") && !HasNoBody(head_.status)) {
    response.headers.Add("Content-Type", "application/octet-stream");
  }
  AddOwnHeaders(response);
  return response;
}

// The length of a body that is left out: no one but the handler has it.
bool HttpCaller::IsLength(std::string_view name, std::string_view value) const {
  return is_head_ && http::EqualsIgnoringCase(name, "Content-Length") && ParseUint(value);
}

void HttpCaller::AddOwnHeaders(http::Response& response) const {
  response.headers.Add("X-Call-Id", id_);
  const std::chrono::duration<double> taken = clock_.Now() - started_;
  response.headers.Add("X-Duration-Seconds", fmt::format("{:.6f}", taken.count()));
}

bool HttpCaller::Flush() {
  if (HasNoBody(head_.status)) {
    unsent_.clear();
    return responder_.is_open();
  }
  if (!stream_) {
    http::Response response = ResponseHead();
    response.body = std::exchange(unsent_, {});
    stream_ = responder_.Begin(std::move(response));
    return stream_->is_open();
  }
  return stream_->Write(std::exchange(unsent_, {}));
}

void HttpCaller::End() {
  if (stream_) {
    if (!unsent_.empty()) {
      (void)stream_->Write(unsent_);
    }
    return stream_->End();
  }
  http::Response response = ResponseHead();
  response.body = std::move(unsent_);
  responder_.Send(std::move(response));
}

void HttpCaller::Fail(const Fault& fault) {
  // A response that has begun cannot be taken back: the connection ends before its end.
  if (!stream_) {
    http::Response response = FaultResponse(fault);
    AddOwnHeaders(response);
    responder_.Send(std::move(response));
  }
}

void HttpCaller::OnDrained(std::function<void()> task) {
  if (stream_) {
    stream_->OnDrained(std::move(task));
  }
}

}  // namespace kgpu::watchdog
