// The admin's settings for health.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "src/gpu/health/rule.h"

namespace kgpu::health {

// Changes to one rule; unset fields keep the table's value.
struct RuleSetting {
  std::optional<Action> action{};
  std::optional<bool> is_unhealthy{};
  std::optional<std::chrono::milliseconds> lasts{};  // how long it must show before it counts
  std::optional<uint64_t> limit{};                   // a number or a rate, as the rule defines
  bool operator==(const RuleSetting&) const = default;
};

struct FlapLimit {
  unsigned times = 3;  // 0: no limit
  std::chrono::milliseconds within{3'600'000};
  bool operator==(const FlapLimit&) const = default;
};

struct Settings {
  // A device is trusted again if it is found healthy this long after the last event of its
  // fault.
  std::chrono::milliseconds hold_down{60'000};
  // After more than `times` faults within `within`, only an admin makes the device healthy again.
  FlapLimit flap_limit{};
  bool kernel_log = true;                   // also read XIDs from /dev/kmsg
  std::chrono::milliseconds every{30'000};  // how often to measure GPUs for health; 0: never
  // By name: "Xid79", "RowRemapPending"; "Xid*" is every XID and "*" every rule without an entry of
  // its own, except rules for devices that do not answer at all.
  std::map<std::string, RuleSetting, std::less<>> rules{};
  bool operator==(const Settings&) const = default;
};

}  // namespace kgpu::health
