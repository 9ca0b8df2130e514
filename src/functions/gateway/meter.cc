#include "src/functions/gateway/meter.h"

#include <algorithm>

namespace kgpu::gateway {
namespace {

using metrics::Type;

constexpr std::array<std::string_view, 4> kFaultNames = {"", "connect", "cut", "deadline"};

}  // namespace

void Meter::OnEnded(std::string_view route, bool is_grpc, const RelayResult& result,
                    std::chrono::nanoseconds time) {
  --in_flight_;
  ++requests_[{route, is_grpc ? "grpc" : "http", result.code}];
  const double seconds = std::chrono::duration<double>(time).count();
  Times& times = times_[route];
  const auto* const bound = std::ranges::lower_bound(kRequestBounds, seconds);
  ++times.samples.at(static_cast<size_t>(bound - kRequestBounds.begin()));
  times.sum += seconds;
  ++faults_.at(static_cast<size_t>(result.fault));
}

std::string Meter::Page(metrics::Format format, bool is_up) const {
  metrics::Exposition page(format);
  page.Family("kgpu_gateway_up", Type::kGauge, "Whether the function service answers the gateway");
  page.Sample(is_up ? 1 : 0);
  page.Family("kgpu_gateway_requests_in_flight", Type::kGauge, "Requests that have not ended");
  page.Sample(static_cast<double>(in_flight_));
  page.Family("kgpu_gateway_requests_total", Type::kCounter,
              "Requests by route, protocol and HTTP status code; 499: the caller left");
  for (const auto& [key, count] : requests_) {
    page.Sample(
        {{"route", key.route}, {"protocol", key.protocol}, {"code", fmt::format("{}", key.code)}},
        static_cast<double>(count));
  }
  page.Family("kgpu_gateway_request_seconds", Type::kHistogram,
              "Time from a request's arrival to the end of its answer", "seconds");
  for (const auto& [route, times] : times_) {
    page.Sample(
        {{"route", route}},
        metrics::Histogram{.bounds = kRequestBounds, .samples = times.samples, .sum = times.sum});
  }
  page.Family("kgpu_gateway_upstream_errors_total", Type::kCounter,
              "Requests that the function service did not answer: it could not be reached, ended "
              "during the request, or took longer than the caller's deadline");
  for (const UpstreamFault fault :
       {UpstreamFault::kConnect, UpstreamFault::kCut, UpstreamFault::kDeadline}) {
    page.Sample({{"reason", kFaultNames.at(static_cast<size_t>(fault))}},
                static_cast<double>(faults_.at(static_cast<size_t>(fault))));
  }
  return page.Take();
}

}  // namespace kgpu::gateway
