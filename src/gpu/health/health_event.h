// What GPU health reports to the rest: the journal, log lines, events, conditions, metrics.
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
  kRaised,   // a fault started
  kSeen,     // a sign that does not affect the device, or a repeat of an open fault
  kCleared,  // the device was found healthy again, or an admin cleared the fault
  kHeld,     // too many faults in a short time: lasts until an admin clears it, or a reboot
};
// "raised", "seen", "cleared", "held".
std::string_view ToString(HealthEventKind kind);
std::optional<HealthEventKind> ParseHealthEventKind(std::string_view word);

// One event. There are few of them, however fast signs arrive: the first sign of a kind is reported
// at once, then one event reports many with their count, less and less often as it continues.
struct HealthEvent {
  HealthEventKind kind = HealthEventKind::kSeen;
  WallTime when{};
  std::optional<device::GpuUuid> gpu{};  // nullopt: the sign did not name it; only with kSeen
  std::optional<unsigned> gpu_instance{};
  std::optional<unsigned> compute_instance{};
  std::string rule{};  // "Xid79": also the reason that devices show
  std::optional<uint64_t> xid{};
  FaultClass fault_class = FaultClass::kOther;
  Action action = Action::kIgnore;
  Source source = Source::kDriverEvent;
  bool is_unhealthy = false;  // its devices are not allocated while it lasts
  std::string message{};      // one or two sentences for people, with the fix
  std::string detail{};       // what was measured, or the kernel's own line; may be empty
  uint64_t count = 1;         // signs since the last event about it; kCleared: in total
  std::optional<uint32_t> pid{};
  bool operator==(const HealthEvent&) const = default;
};

// A sign that does not affect the device but still needs an admin: a row that waits to be replaced,
// a link that had to be repaired.
inline bool IsWarning(const HealthEvent& event) {
  return event.kind == HealthEventKind::kSeen && !event.is_unhealthy &&
         event.action >= Action::kDrain && event.fault_class != FaultClass::kApplication;
}

using HealthEventListener = std::function<void(const HealthEvent&)>;

// A fault that is open now.
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
  std::vector<LastXid> last_xids{};  // by GPU; without GPUs that had none
  std::vector<Fault> faults{};       // sorted by GPU and rule
  uint64_t xids_of_unknown_gpu = 0;
  bool operator==(const Counters&) const = default;
};

// Everything at one moment.
struct Overview {
  std::vector<OpenFault> open{};  // by GPU; the worst of each first
  Counters counters{};
  // Why the kernel log is not read; empty: it is read, or reading is switched off.
  std::string kernel_log_problem{};
  // The kernel log record up to which nothing needs to be read again in this boot.
  std::optional<uint64_t> kernel_log_position{};
  bool operator==(const Overview&) const = default;
};

}  // namespace kgpu::health
