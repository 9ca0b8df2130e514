// What an admin can say about health.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "src/gpu/health/rule.h"

namespace kgpu::health {

// Changes to one rule; what is not given stays as the table has it.
struct RuleSetting {
  std::optional<Action> action{};
  std::optional<bool> is_unhealthy{};
  std::optional<std::chrono::milliseconds> lasts{};  // how long it must be seen before it counts
  std::optional<uint64_t> limit{};                   // a number or a rate, as the rule says
  bool operator==(const RuleSetting&) const = default;
};

struct FlapLimit {
  unsigned times = 3;  // 0: no limit
  std::chrono::milliseconds within{3'600'000};
  bool operator==(const FlapLimit&) const = default;
};

struct Settings {
  // A device is trusted again when, this long after the last events of its fault, it is found
  // healthy.
  std::chrono::milliseconds hold_down{60'000};
  // More faults than `times` within `within`, and the device is no longer trusted by itself.
  FlapLimit flap_limit{};
  bool kernel_log = true;                   // XIDs are also looked for in /dev/kmsg
  std::chrono::milliseconds every{30'000};  // how often GPUs are measured for health; 0: never
  // By name: "Xid79", "RowRemapPending"; "Xid*" is every XID and "*" every rule without an entry of
  // its own, but those of devices that do not answer at all.
  std::map<std::string, RuleSetting, std::less<>> rules{};
  bool operator==(const Settings&) const = default;
};

}  // namespace kgpu::health
