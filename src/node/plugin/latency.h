// A histogram of call durations. Any thread may add to it.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace kgpu::plugin {

// In seconds. A cached answer takes tens of microseconds; one that is not ready yet is awaited for
// ten seconds.
inline constexpr std::array kLatencyBounds = {0.0001, 0.0005, 0.001, 0.005, 0.01,
                                              0.05,   0.1,    0.5,   1.0,   5.0};

// The counts at one moment.
struct LatencyCounts {
  std::array<uint64_t, kLatencyBounds.size() + 1> calls{};  // the last: longer than all bounds
  double seconds = 0;                                       // of all of them
};

class Latency {
 public:
  void Add(std::chrono::nanoseconds length) {
    const double seconds = std::chrono::duration<double>(length).count();
    const auto* const bound = std::ranges::lower_bound(kLatencyBounds, seconds);
    ++calls_[static_cast<size_t>(bound - kLatencyBounds.begin())];
    nanoseconds_ += length.count();
  }
  LatencyCounts counts() const {
    LatencyCounts counts;
    std::ranges::copy(calls_, counts.calls.begin());
    counts.seconds = static_cast<double>(nanoseconds_) / 1e9;
    return counts;
  }

 private:
  std::array<std::atomic<uint64_t>, kLatencyBounds.size() + 1> calls_{};
  std::atomic<int64_t> nanoseconds_ = 0;
};

}  // namespace kgpu::plugin
