// What functions did and what they used: counters since the start for Prometheus, and hours that
// are kept on disk for `kgpu fn usage`. Lives on the loop's thread.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "src/functions/service/usage_hours.h"
#include "src/platform/base/clock.h"
#include "src/platform/metrics/exposition.h"

namespace kgpu::functions {

// The parts of a cold start, one after the other, as a provider names them.
inline constexpr size_t kStartPhases = 4;
using PhaseNames = std::array<std::string_view, kStartPhases>;
using PhaseTimes = std::array<std::chrono::nanoseconds, kStartPhases>;

inline constexpr std::array<double, 16> kCallBounds = {
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300};

struct BucketCounts {
  std::array<uint64_t, kCallBounds.size() + 1> samples{};
  double sum = 0;
  void Add(double value);
};

// The replicas of a function now.
struct ReplicaCounts {
  int64_t starting = 0;
  int64_t running = 0;
  int64_t draining = 0;
  int64_t gpus = 0;  // lent to it
};

class Meter {
 public:
  // `hours` must outlive this.
  Meter(UsageHours& hours, const PhaseNames& phases) : hours_(hours), phases_(phases) {}

  void OnCallStarted(const std::string& function);
  // `code`: what the caller got; 499 if it left. `time`: from its arrival.
  void OnCallEnded(const std::string& function, int code, std::chrono::nanoseconds time,
                   WallTime now);
  void OnColdStart(const std::string& function, const PhaseTimes& phases, WallTime now);
  void OnStartFailed(const std::string& function, std::string_view reason);
  // GPU time that passed: `busy` with at least one call, `held` in all.
  void OnGpuTime(const std::string& function, double busy_seconds, double held_seconds,
                 WallTime now);
  void SetReplicas(const std::string& function, const ReplicaCounts& counts, int64_t waiting);
  // Its series end; its hours stay.
  void Forget(const std::string& function) { functions_.erase(function); }

  int64_t in_flight(const std::string& function) const;
  uint64_t calls(const std::string& function) const;
  std::string Page(metrics::Format format = metrics::Format::kText) const;

 private:
  struct Counters {
    std::map<int, uint64_t> calls{};        // ended, by code
    std::map<int, BucketCounts> seconds{};  // by code
    uint64_t started = 0;
    int64_t in_flight = 0;
    uint64_t cold_starts = 0;
    std::array<BucketCounts, kStartPhases> phases{};
    std::map<std::string, uint64_t> failed_starts{};
    double gpu_busy = 0;
    double gpu_held = 0;
    ReplicaCounts replicas{};
    int64_t waiting = 0;
  };

  void WriteCalls(metrics::Exposition& page) const;
  void WriteReplicas(metrics::Exposition& page) const;
  void WriteStarts(metrics::Exposition& page) const;
  void WriteGpus(metrics::Exposition& page) const;

  UsageHours& hours_;
  const PhaseNames phases_;
  std::map<std::string, Counters> functions_;
};

}  // namespace kgpu::functions
