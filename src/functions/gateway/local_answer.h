// The answer of a service in this process, on its way to a caller of the gateway.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>

#include "src/functions/gateway/caller.h"
#include "src/functions/gateway/relay.h"
#include "src/platform/net/http/answer.h"

namespace kgpu::gateway {

// Lives on the loop's thread.
class LocalAnswer final : public http::Answer {
 public:
  using Done = std::function<void(const RelayResult&)>;

  // `done` is called once: at the end of the answer, or if there will be none.
  LocalAnswer(std::unique_ptr<Caller> caller, Done done);
  // A caller that waits hears that the request failed; one whose answer has begun sees that it was
  // cut off.
  ~LocalAnswer() override;
  LocalAnswer(const LocalAnswer&) = delete;
  LocalAnswer& operator=(const LocalAnswer&) = delete;

  void Send(http::Response response) override;
  void Begin(http::Response head) override;
  bool Write(std::string_view bytes) override;
  void End() override;
  bool is_waiting() const override { return code_ == 0 && caller_->is_open(); }
  bool is_streaming() const override { return code_ != 0 && !has_ended_ && caller_->is_open(); }
  size_t pending() const override { return caller_->pending(); }
  void OnDrained(std::function<void()> task) override { caller_->OnDrained(std::move(task)); }
  void OnGone(std::function<void()> task) override { caller_->OnGone(std::move(task)); }

 private:
  void Finish(const RelayResult& result);

  const std::unique_ptr<Caller> caller_;
  Done done_;
  int code_ = 0;  // of the answer; 0: it has not begun
  bool has_ended_ = false;
};

}  // namespace kgpu::gateway
