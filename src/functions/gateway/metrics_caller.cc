#include "src/functions/gateway/metrics_caller.h"

#include <utility>

namespace kgpu::gateway {
namespace {

using metrics::Exposition;
using metrics::Format;

constexpr size_t kMaxPage = size_t{64} << 20;

}  // namespace

MetricsCaller::MetricsCaller(std::unique_ptr<Caller> caller, bool is_open_metrics, OwnPage own)
    : caller_(std::move(caller)), is_open_metrics_(is_open_metrics), own_(std::move(own)) {
}

void MetricsCaller::Send(http::Response response) {
  const bool is_open_metrics =
      response.headers.Find("Content-Type").value_or("").find("openmetrics") !=
      std::string_view::npos;
  if (response.code != 200) {
    return Fail(response.code, response.body);
  }
  SendPage(std::move(response.body), is_open_metrics ? Format::kOpenMetrics : Format::kText, true);
}

bool MetricsCaller::Write(std::string_view bytes) {
  if (answer_.body.size() + bytes.size() > kMaxPage) {
    Fail(503, "");
    return false;
  }
  answer_.body += bytes;
  return true;
}

void MetricsCaller::Fail(int /*code*/, std::string_view /*text*/) {
  SendPage("", is_open_metrics_ ? Format::kOpenMetrics : Format::kText, false);
}

void MetricsCaller::SendPage(std::string service, Format format, bool is_up) {
  const bool is_open_metrics = format == Format::kOpenMetrics;
  if (is_open_metrics && service.ends_with(Exposition::kEnd)) {
    service.resize(service.size() - Exposition::kEnd.size());
  }
  http::Response page;
  page.headers.Add("Content-Type", is_open_metrics ? "application/openmetrics-text; version=1.0.0; "
                                                     "charset=utf-8"
                                                   : "text/plain; version=0.0.4; charset=utf-8");
  page.body = std::move(service);
  page.body += own_(format, is_up);
  if (is_open_metrics) {
    page.body += Exposition::kEnd;
  }
  caller_->Send(std::move(page));
}

}  // namespace kgpu::gateway
