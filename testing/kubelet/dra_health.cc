#include "testing/kubelet/dra_health.h"

namespace kgpu::kubelet {
namespace {

// Source: ResourceHealthMessageMaxLength; longer texts end with "...".
constexpr size_t kMessageLimit = 1024;

std::string Truncated(const std::string& message) {
  return message.size() <= kMessageLimit ? message : message.substr(0, kMessageLimit - 3) + "...";
}

}  // namespace

std::set<DraHealth::DeviceName> DraHealth::Update(const std::string& driver,
                                                  const std::vector<HealthReport>& reports) {
  const SteadyTime now = clock_.Now();
  std::map<DeviceName, Entry>& entries = drivers_[driver];
  std::set<DeviceName> changed;
  std::set<DeviceName> reported;
  for (const HealthReport& report : reports) {
    const DeviceName name(report.pool, report.device);
    const Entry entry{.health = report.health,
                      .message = Truncated(report.message),
                      .timeout = report.timeout.count() > 0 ? report.timeout : timeout_,
                      .received_at = now};
    const auto old = entries.find(name);
    if (old == entries.end() || old->second.health != entry.health ||
        old->second.message != entry.message || old->second.timeout != entry.timeout) {
      changed.insert(name);
    }
    entries[name] = entry;
    reported.insert(name);
  }
  for (auto& [name, entry] : entries) {
    if (!reported.contains(name) && entry.health != kUnknownHealth &&
        now - entry.received_at > entry.timeout) {
      entry.health = kUnknownHealth;
      changed.insert(name);
    }
  }
  return changed;
}

DraHealth::Shown DraHealth::Find(const std::string& driver, const DeviceName& name) const {
  const auto entries = drivers_.find(driver);
  if (entries == drivers_.end()) {
    return {kUnknownHealth, ""};
  }
  const auto entry = entries->second.find(name);
  if (entry == entries->second.end()) {
    return {kUnknownHealth, ""};
  }
  const bool is_old = clock_.Now() - entry->second.received_at > entry->second.timeout;
  return {is_old ? kUnknownHealth : entry->second.health, entry->second.message};
}

}  // namespace kgpu::kubelet
