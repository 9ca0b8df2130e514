// What the gateway counts of itself, beside the series of the service. Lives on the loop's thread.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "src/functions/gateway/relay.h"
#include "src/platform/metrics/exposition.h"

namespace kgpu::gateway {

inline constexpr std::array<double, 14> kRequestBounds = {
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60, 300};

class Meter {
 public:
  void OnStarted() { ++in_flight_; }
  // `route`: an id of the table of routes, which outlives this, or "none". `code`: HTTP's.
  void OnEnded(std::string_view route, bool is_grpc, const RelayResult& result,
               std::chrono::nanoseconds time);
  // The series, without the end of an OpenMetrics page. `is_up`: whether the service answered.
  std::string Page(metrics::Format format, bool is_up) const;

 private:
  struct Key {
    std::string_view route;
    std::string_view protocol;
    int code;
    auto operator<=>(const Key&) const = default;
  };
  struct Times {
    std::array<uint64_t, kRequestBounds.size() + 1> samples{};
    double sum = 0;
  };

  uint64_t in_flight_ = 0;
  std::map<Key, uint64_t> requests_;
  std::map<std::string_view, Times> times_;  // by route
  std::array<uint64_t, 4> faults_{};         // by UpstreamFault
};

}  // namespace kgpu::gateway
