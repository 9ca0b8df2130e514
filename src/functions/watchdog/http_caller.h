// The caller of one call by HTTP: turns the worker's answer into a response, in one piece when it
// came at once, else as a stream.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "src/functions/watchdog/call.h"
#include "src/platform/base/clock.h"
#include "src/platform/net/http/server.h"

namespace kgpu::watchdog {

class HttpCaller final : public Caller {
 public:
  // `clock` must outlive the caller.
  // `is_head`: the caller gets no output, and the handler may say how long it would be.
  HttpCaller(const Clock& clock, http::Responder responder, std::string id, bool is_head);

  void Head(CallHead head) override { head_ = std::move(head); }
  void Data(std::string_view bytes) override { unsent_ += bytes; }
  bool Flush() override;
  void End() override;
  void Fail(const Fault& fault) override;
  size_t pending() const override { return stream_ ? stream_->pending() : 0; }
  void OnDrained(std::function<void()> task) override;
  void OnGone(std::function<void()> task) override { responder_.OnGone(std::move(task)); }

 private:
  http::Response ResponseHead() const;
  bool IsLength(std::string_view name, std::string_view value) const;
  void AddOwnHeaders(http::Response& response) const;

  const Clock& clock_;
  const SteadyTime started_;
  const std::string id_;
  const bool is_head_;
  http::Responder responder_;
  std::optional<http::Stream> stream_;
  CallHead head_;
  std::string unsent_;
};

}  // namespace kgpu::watchdog
