// What the health of the GPUs tells the rest: the journal, log lines, events, conditions, metrics.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/gpu/device/ids.h"
#include "src/gpu/health/rule.h"
#include "src/platform/base/clock.h"

namespace kgpu::health {

enum class HealthEventKind : uint8_t {
  kRaised,   // a fault began
  kSeen,     // a sign that leaves the device as it is, or an open fault once more
  kCleared,  // the device was found healthy again, or an admin said so
  kHeld,     // too many faults in too short a time: stays until an admin clears it, or a reboot
};
// "raised", "seen", "cleared", "held".
std::string_view ToString(HealthEventKind kind);
std::optional<HealthEventKind> ParseHealthEventKind(std::string_view word);

// One piece of events. However fast signs come, there are few of these: the first of a kind at
// once, then one for many, with their count, less and less often while it goes on.
struct HealthEvent {
  HealthEventKind kind = HealthEventKind::kSeen;
  WallTime when{};
  std::optional<device::GpuUuid> gpu{};  // nullopt: the sign did not say; with kSeen only
  std::optional<unsigned> gpu_instance{};
  std::optional<unsigned> compute_instance{};
  std::string rule{};  // "Xid79": also the reason that devices show
  std::optional<uint64_t> xid{};
  FaultClass fault_class = FaultClass::kOther;
  Action action = Action::kIgnore;
  Source source = Source::kDriverEvent;
  bool is_unhealthy = false;  // its devices are not handed out while it lasts
  std::string message{};      // one sentence or two for people, with the fix
  std::string detail{};       // what was measured, or the kernel's own line; may be empty
  uint64_t count = 1;         // signs since the last events of it; kCleared: of all its time
  std::optional<uint32_t> pid{};
  bool operator==(const HealthEvent&) const = default;
};

// A sign that leaves the device as it is and asks for an admin's hand all the same: a row that
// waits to be replaced, a link that had to be fixed.
inline bool IsWarning(const HealthEvent& event) {
  return event.kind == HealthEventKind::kSeen && !event.is_unhealthy &&
         event.action >= Action::kDrain && event.fault_class != FaultClass::kApplication;
}

using HealthEventListener = std::function<void(const HealthEvent&)>;

// A fault that stands now.
struct OpenFault {
  Scope scope{};
  std::string rule{};
  std::optional<uint64_t> xid{};
  FaultClass fault_class = FaultClass::kOther;
  Action action = Action::kIgnore;
  Source source = Source::kDriverEvent;
  bool is_unhealthy = true;  // false: a warning
  bool is_held = false;      // see HealthEventKind::kHeld
  std::string message{};
  std::string detail{};
  WallTime first{};
  WallTime last{};
  uint64_t count = 1;
  std::optional<uint32_t> pid{};
  bool operator==(const OpenFault&) const = default;
};

// Since the agent started; bounded.
struct Counters {
  struct Xid {
    device::GpuUuid gpu{};
    uint64_t xid = 0;
    uint64_t count = 0;
    bool operator==(const Xid&) const = default;
  };
  struct Fault {  // of whole GPUs and of their parts together
    device::GpuUuid gpu{};
    std::string rule{};
    uint64_t raised = 0;
    bool operator==(const Fault&) const = default;
  };
  struct LastXid {
    device::GpuUuid gpu{};
    uint64_t xid = 0;
    WallTime when{};
    bool operator==(const LastXid&) const = default;
  };
  std::vector<Xid> xids{};           // sorted by GPU and code
  std::vector<LastXid> last_xids{};  // by GPU; one that had none is not here
  std::vector<Fault> faults{};       // sorted by GPU and rule
  uint64_t xids_of_unknown_gpu = 0;
  bool operator==(const Counters&) const = default;
};

// All of it at one moment.
struct Overview {
  std::vector<OpenFault> open{};  // by GPU; the worst of each first
  Counters counters{};
  // Why the kernel's log is not read; empty: it is, or is not wanted.
  std::string kernel_log_problem{};
  // The record of the kernel's log up to which nothing needs to be read again in this boot.
  std::optional<uint64_t> kernel_log_position{};
  bool operator==(const Overview&) const = default;
};

}  // namespace kgpu::health
