// What the tracker stores about one rule on one part of a GPU.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/gpu/health/flap_history.h"
#include "src/gpu/health/health_event.h"
#include "src/gpu/health/rule_table.h"
#include "src/gpu/health/xid_counts.h"
#include "src/platform/base/clock.h"

namespace kgpu::health {

struct FaultRecord {
  Rule rule{};  // with the settings applied
  std::optional<unsigned> gpu_instance{};
  std::optional<unsigned> compute_instance{};
  Source source = Source::kDriverEvent;
  std::string message{};
  std::string detail{};
  std::optional<uint32_t> pid{};
  WallTime first{};
  WallTime last{};
  SteadyTime first_seen{};
  SteadyTime last_seen{};
  uint64_t count = 1;
  uint64_t unreported = 0;  // signs that no event has reported yet
  SteadyTime reported_at{};
  std::chrono::nanoseconds until_event{};  // from reported_at, if anything is unreported
  bool is_held = false;

  // Lasts until the GPU is found healthy; any other sign passes by itself.
  bool is_fault() const {
    return rule.is_unhealthy || (rule.is_standing && rule.action != Action::kIgnore);
  }
  // Whether people are told about it at all.
  bool is_reported() const { return is_fault() || rule.action != Action::kIgnore; }
  bool Matches(const Sign& sign) const {
    return rule.xid == sign.xid && (sign.xid || rule.name == sign.rule) &&
           gpu_instance == sign.gpu_instance && compute_instance == sign.compute_instance;
  }
  bool Touches(unsigned instance, unsigned compute) const {
    return !gpu_instance ||
           (*gpu_instance == instance && (!compute_instance || *compute_instance == compute));
  }
};

// The more severe first; among equals the older one, which is more likely the cause.
inline bool IsWorse(const FaultRecord& a, const FaultRecord& b) {
  if (a.rule.is_unhealthy != b.rule.is_unhealthy) {
    return a.rule.is_unhealthy;
  }
  if (a.rule.action != b.rule.action) {
    return a.rule.action > b.rule.action;
  }
  return a.first_seen < b.first_seen;
}

// All faults of one GPU.
struct GpuFaults {
  std::vector<FaultRecord> records{};
  XidCounts xids{};
  std::optional<uint64_t> last_xid{};
  WallTime last_xid_at{};
  std::map<std::string, uint64_t> raised{};  // by rule
  FlapHistory flaps{};
  SteadyTime good_read{};  // when the newest began
  SteadyTime measured{};
  std::optional<SteadyTime> checked{};     // when a due fault last asked for a check
  std::chrono::nanoseconds check_pause{};  // from then to the next one; 0: no check has failed yet
};

}  // namespace kgpu::health
