#include "src/node/faults/health_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <tuple>

#include "src/node/pods/pod_map.h"

namespace kgpu::faults {
namespace {

using health::HealthEvent;
using health::HealthEventKind;

struct EventText {
  bool is_warning = false;
  std::string reason;
};

bool IsOfAProgram(const HealthEvent& health_event) {
  return health_event.fault_class == health::FaultClass::kApplication && !health_event.is_unhealthy;
}

std::optional<EventText> TextForNode(const HealthEvent& health_event) {
  switch (health_event.kind) {
    case HealthEventKind::kRaised:
      if (IsOfAProgram(health_event)) {
        return std::nullopt;
      }
      return EventText{true, health_event.is_unhealthy ? "GPUUnhealthy" : "GPUWarning"};
    case HealthEventKind::kHeld:
      return EventText{true, "GPUHeldBack"};
    case HealthEventKind::kCleared:
      return health_event.is_unhealthy ? std::optional(EventText{false, "GPURecovered"})
                                       : std::nullopt;
    case HealthEventKind::kSeen:
      return health::IsWarning(health_event) ? std::optional(EventText{true, "GPUWarning"})
                                             : std::nullopt;
  }
  return std::nullopt;
}

std::optional<EventText> TextForPods(const HealthEvent& health_event) {
  if (health_event.kind == HealthEventKind::kHeld) {
    return std::nullopt;  // an admin's business
  }
  const bool is_event =
      health_event.kind == HealthEventKind::kRaised || health_event.kind == HealthEventKind::kSeen;
  if (is_event && IsOfAProgram(health_event)) {
    return health_event.action == health::Action::kIgnore
               ? std::nullopt
               : std::optional(EventText{true, "GPUProgramError"});
  }
  return TextForNode(health_event);
}

// The devices of the snapshot that the event is about.
std::set<std::string> DevicesOf(const HealthEvent& health_event, const device::Snapshot& snapshot) {
  std::set<std::string> devices;
  const device::Gpu* gpu = health_event.gpu ? snapshot.FindGpu(*health_event.gpu) : nullptr;
  if (gpu == nullptr) {
    return devices;
  }
  if (!health_event.gpu_instance) {
    devices.insert(gpu->uuid.str());
  }
  for (const device::MigDevice& mig : gpu->mig_devices) {
    const bool is_hit =
        !health_event.gpu_instance || (mig.gpu_instance == *health_event.gpu_instance &&
                                       (!health_event.compute_instance ||
                                        mig.compute_instance == *health_event.compute_instance));
    if (is_hit) {
      devices.insert(mig.uuid.str());
    }
  }
  return devices;
}

// Namespace, name, UID.
using Pod = std::tuple<std::string, std::string, std::string>;

Pod PodOf(const pods::Container& container) {
  return {container.pod_namespace, container.pod, container.pod_uid};
}

struct Audience {
  std::set<Pod> pods;
  bool is_sure = true;  // false: one of them did it, and it is not known which
};

Audience AudienceOf(const HealthEvent& health_event, const device::Snapshot& snapshot,
                    const pods::PodMap& map) {
  if (IsOfAProgram(health_event) && health_event.pid) {
    if (const auto process = map.processes.find(*health_event.pid);
        process != map.processes.end()) {
      return {.pods = {PodOf(process->second)}};
    }
  }
  Audience audience;
  for (const std::string& device : DevicesOf(health_event, snapshot)) {
    for (const pods::Container& container : pods::UsersOf(map, device)) {
      audience.pods.insert(PodOf(container));
    }
  }
  audience.is_sure = !IsOfAProgram(health_event) || audience.pods.size() < 2;
  return audience;
}

std::string NameOf(const HealthEvent& health_event, const device::Snapshot& snapshot) {
  if (!health_event.gpu) {
    return health_event.rule.starts_with("NvSwitch") ? "an NVSwitch" : "a GPU";
  }
  const device::Gpu* gpu = snapshot.FindGpu(*health_event.gpu);
  std::string name = gpu == nullptr
                         ? health_event.gpu->str()
                         : fmt::format("GPU {} ({})", gpu->index, health_event.gpu->str());
  if (health_event.gpu_instance) {
    fmt::format_to(std::back_inserter(name), ", GPU instance {}", *health_event.gpu_instance);
  }
  return name;
}

std::string NoteOf(const HealthEvent& health_event, const std::string& name) {
  switch (health_event.kind) {
    case HealthEventKind::kCleared:
      return fmt::format("{}: {} recovered", name, health_event.rule);
    case HealthEventKind::kHeld:
      return fmt::format(
          "{}: {} occurred too often; the device stays unhealthy until `kgpu health clear {}` or a "
          "reboot",
          name, health_event.rule, health_event.gpu ? health_event.gpu->str() : "GPU");
    case HealthEventKind::kRaised:
    case HealthEventKind::kSeen:
      break;
  }
  return fmt::format("{}: {}: {}{}{}", name, health_event.rule, health_event.message,
                     health_event.detail.empty() ? "" : " ", health_event.detail);
}

std::string SubjectOf(const HealthEvent& health_event) {
  std::string subject = health_event.gpu ? health_event.gpu->str() : std::string();
  if (health_event.gpu_instance) {
    fmt::format_to(std::back_inserter(subject), "/{}", *health_event.gpu_instance);
  }
  if (health_event.compute_instance) {
    fmt::format_to(std::back_inserter(subject), "/{}", *health_event.compute_instance);
  }
  return fmt::format("{} {}", subject, health_event.rule);
}

}  // namespace

bool AreAlike(const HealthEvent& a, const HealthEvent& b) {
  return a.kind == b.kind && a.rule == b.rule && a.message == b.message && a.detail == b.detail &&
         a.gpu && b.gpu && a.gpu != b.gpu && !a.gpu_instance && !b.gpu_instance;
}

std::string NoteForNode(const HealthEvent& health_event, size_t others,
                        const device::Snapshot& snapshot) {
  std::string name = NameOf(health_event, snapshot);
  if (others > 0) {
    fmt::format_to(std::back_inserter(name), " and {} other{}", others, others == 1 ? "" : "s");
  }
  return NoteOf(health_event, name);
}

bool IsPodsBusiness(const HealthEvent& health_event) {
  return TextForPods(health_event).has_value();
}

std::vector<kube::Event> HealthEvents(const HealthEvent& health_event,
                                      const device::Snapshot& snapshot, const pods::PodMap& pods,
                                      const std::string& node) {
  kube::Event event;
  event.action = "WatchingHealth";
  event.subject = SubjectOf(health_event);
  event.note = NoteOf(health_event, NameOf(health_event, snapshot));
  std::vector<kube::Event> events;
  if (const auto text = TextForNode(health_event)) {
    event.is_warning = text->is_warning;
    event.reason = text->reason;
    event.regarding = {.api_version = "v1", .kind = "Node", .name = node};
    events.push_back(event);
  }
  if (const auto text = TextForPods(health_event)) {
    const Audience audience = AudienceOf(health_event, snapshot, pods);
    event.is_warning = text->is_warning && audience.is_sure;
    event.reason = text->reason;
    if (!audience.is_sure) {
      event.note =
          fmt::format("one of the {} pods on this device: {}", audience.pods.size(), event.note);
    }
    for (const auto& [space, name, uid] : audience.pods) {
      event.regarding = {
          .api_version = "v1", .kind = "Pod", .space = space, .name = name, .uid = uid};
      events.push_back(event);
    }
  }
  return events;
}

}  // namespace kgpu::faults
