// Joins the service's page of metrics with the gateway's own.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "src/functions/gateway/caller.h"
#include "src/platform/metrics/exposition.h"

namespace kgpu::gateway {

// Passes a page of the service on to `caller`, followed by ours; ours alone if the service does not
// answer: a monitoring system must see that, too.
class MetricsCaller final : public Caller {
 public:
  // Our page; `is_up`: whether the service has answered.
  using OwnPage = std::function<std::string(metrics::Format format, bool is_up)>;

  // `is_open_metrics`: what the caller accepts.
  MetricsCaller(std::unique_ptr<Caller> caller, bool is_open_metrics, OwnPage own);

  void Send(http::Response response) override;
  void Begin(http::Response head) override { answer_ = std::move(head); }
  bool Write(std::string_view bytes) override;
  void End() override { Send(std::move(answer_)); }
  void Fail(int code, std::string_view text) override;
  bool is_open() const override { return caller_->is_open(); }
  size_t pending() const override { return 0; }
  void OnDrained(std::function<void()> task) override { caller_->OnDrained(std::move(task)); }
  void OnGone(std::function<void()> task) override { caller_->OnGone(std::move(task)); }

 private:
  void SendPage(std::string service, metrics::Format format, bool is_up);

  const std::unique_ptr<Caller> caller_;
  const bool is_open_metrics_;
  const OwnPage own_;
  http::Response answer_{};
};

}  // namespace kgpu::gateway
