#include "src/agent/health_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <tuple>

#include "src/node/pods/pod_map.h"

namespace kgpu::agent {
namespace {

using health::Happening;
using health::HappeningKind;

struct EventText {
  bool is_warning = false;
  std::string reason;
};

bool IsOfAProgram(const Happening& news) {
  return news.fault_class == health::FaultClass::kApplication && !news.is_unhealthy;
}

std::optional<EventText> TextForNode(const Happening& news) {
  switch (news.kind) {
    case HappeningKind::kRaised:
      if (IsOfAProgram(news)) {
        return std::nullopt;
      }
      return EventText{true, news.is_unhealthy ? "GPUUnhealthy" : "GPUWarning"};
    case HappeningKind::kHeld:
      return EventText{true, "GPUHeldBack"};
    case HappeningKind::kCleared:
      return news.is_unhealthy ? std::optional(EventText{false, "GPURecovered"}) : std::nullopt;
    case HappeningKind::kSeen:
      return health::IsWarning(news) ? std::optional(EventText{true, "GPUWarning"}) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<EventText> TextForPods(const Happening& news) {
  if (news.kind == HappeningKind::kHeld) {
    return std::nullopt;  // an admin's business
  }
  const bool is_news = news.kind == HappeningKind::kRaised || news.kind == HappeningKind::kSeen;
  if (is_news && IsOfAProgram(news)) {
    return news.action == health::Action::kIgnore
               ? std::nullopt
               : std::optional(EventText{true, "GPUProgramError"});
  }
  return TextForNode(news);
}

// The devices of the snapshot that the news is about.
std::set<std::string> DevicesOf(const Happening& news, const device::Snapshot& snapshot) {
  std::set<std::string> devices;
  const device::Gpu* gpu = news.gpu ? snapshot.FindGpu(*news.gpu) : nullptr;
  if (gpu == nullptr) {
    return devices;
  }
  if (!news.gpu_instance) {
    devices.insert(gpu->uuid.str());
  }
  for (const device::MigDevice& mig : gpu->mig_devices) {
    const bool is_hit =
        !news.gpu_instance ||
        (mig.gpu_instance == *news.gpu_instance &&
         (!news.compute_instance || mig.compute_instance == *news.compute_instance));
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

Audience AudienceOf(const Happening& news, const device::Snapshot& snapshot,
                    const pods::PodMap& map) {
  if (IsOfAProgram(news) && news.pid) {
    if (const auto process = map.processes.find(*news.pid); process != map.processes.end()) {
      return {.pods = {PodOf(process->second)}};
    }
  }
  Audience audience;
  for (const std::string& device : DevicesOf(news, snapshot)) {
    for (const pods::Container& container : pods::UsersOf(map, device)) {
      audience.pods.insert(PodOf(container));
    }
  }
  audience.is_sure = !IsOfAProgram(news) || audience.pods.size() < 2;
  return audience;
}

std::string NameOf(const Happening& news, const device::Snapshot& snapshot) {
  if (!news.gpu) {
    return news.rule.starts_with("NvSwitch") ? "an NVSwitch" : "a GPU";
  }
  const device::Gpu* gpu = snapshot.FindGpu(*news.gpu);
  std::string name =
      gpu == nullptr ? news.gpu->str() : fmt::format("GPU {} ({})", gpu->index, news.gpu->str());
  if (news.gpu_instance) {
    fmt::format_to(std::back_inserter(name), ", GPU instance {}", *news.gpu_instance);
  }
  return name;
}

std::string NoteOf(const Happening& news, const std::string& name) {
  switch (news.kind) {
    case HappeningKind::kCleared:
      return fmt::format("{}: {} is over", name, news.rule);
    case HappeningKind::kHeld:
      return fmt::format(
          "{}: {} came too often, it is not trusted again before `kgpu health clear "
          "{}` or a reboot",
          name, news.rule, news.gpu ? news.gpu->str() : "GPU");
    case HappeningKind::kRaised:
    case HappeningKind::kSeen:
      break;
  }
  return fmt::format("{}: {}: {}{}{}", name, news.rule, news.message,
                     news.detail.empty() ? "" : " ", news.detail);
}

std::string SubjectOf(const Happening& news) {
  std::string subject = news.gpu ? news.gpu->str() : std::string();
  if (news.gpu_instance) {
    fmt::format_to(std::back_inserter(subject), "/{}", *news.gpu_instance);
  }
  if (news.compute_instance) {
    fmt::format_to(std::back_inserter(subject), "/{}", *news.compute_instance);
  }
  return fmt::format("{} {}", subject, news.rule);
}

}  // namespace

bool AreAlike(const Happening& a, const Happening& b) {
  return a.kind == b.kind && a.rule == b.rule && a.message == b.message && a.detail == b.detail &&
         a.gpu && b.gpu && a.gpu != b.gpu && !a.gpu_instance && !b.gpu_instance;
}

std::string NoteForNode(const Happening& news, size_t others, const device::Snapshot& snapshot) {
  std::string name = NameOf(news, snapshot);
  if (others > 0) {
    fmt::format_to(std::back_inserter(name), " and {} other{}", others, others == 1 ? "" : "s");
  }
  return NoteOf(news, name);
}

bool IsPodsBusiness(const Happening& news) {
  return TextForPods(news).has_value();
}

std::vector<kube::Event> HealthEvents(const Happening& news, const device::Snapshot& snapshot,
                                      const pods::PodMap& pods, const std::string& node) {
  kube::Event event;
  event.action = "WatchingHealth";
  event.subject = SubjectOf(news);
  event.note = NoteOf(news, NameOf(news, snapshot));
  std::vector<kube::Event> events;
  if (const auto text = TextForNode(news)) {
    event.is_warning = text->is_warning;
    event.reason = text->reason;
    event.regarding = {.api_version = "v1", .kind = "Node", .name = node};
    events.push_back(event);
  }
  if (const auto text = TextForPods(news)) {
    const Audience audience = AudienceOf(news, snapshot, pods);
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

}  // namespace kgpu::agent
