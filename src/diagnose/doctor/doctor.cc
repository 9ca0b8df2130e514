#include "src/diagnose/doctor/doctor.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "src/diagnose/doctor/commands.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::doctor {

namespace {

// Which hosts a group of checks has something to say of.
enum class Reach : uint8_t {
  kAll,
  kHosts,     // not where the parts of a host are not to be seen: see Place
  kGpuHosts,  // hosts with GPUs for their own driver
};

struct Group {
  std::span<const Check> checks;
  Reach reach = Reach::kGpuHosts;
  std::vector<Topic> topics;  // that its checks use
};

std::vector<Group> Groups() {
  using enum Topic;
  return {{PciChecks(), Reach::kAll, {}},
          {PlaceChecks(), Reach::kAll, {}},
          {EntitlementChecks(), Reach::kGpuHosts, {kEntitlement}},
          {KernelChecks(), Reach::kGpuHosts, {kInstall}},
          {NouveauChecks(), Reach::kGpuHosts, {kProcesses}},
          {DriverChecks(), Reach::kGpuHosts, {kInstall}},
          {DeviceChecks(), Reach::kGpuHosts, {kDevices}},
          {GpuChecks(), Reach::kGpuHosts, {kDevices, kServices, kProcesses, kKubelet, kAnswers}},
          {ServiceChecks(), Reach::kGpuHosts, {kInstall, kServices, kProcesses}},
          {ContainerChecks(),
           Reach::kGpuHosts,
           {kInstall, kDevices, kServices, kProcesses, kContainers, kKubelet}},
          {CgroupDriverChecks(), Reach::kGpuHosts, {kProcesses, kContainers, kKubelet}},
          {KubeletChecks(), Reach::kGpuHosts, {kProcesses, kKubelet}},
          {PluginChecks(), Reach::kGpuHosts, {kProcesses, kKubelet, kOwners, kAnswers}},
          {ClusterChecks(), Reach::kHosts, {kProcesses, kKubelet, kOwners, kAnswers}}};
}

// Sentences about facts that the chosen checks use: another check's are no problem of theirs.
std::vector<std::string> UnreadableOf(const Facts& facts, const std::set<Topic>& topics) {
  std::set<std::string> sentences(facts.unreadable.begin(), facts.unreadable.end());
  for (const auto& [topic, more] : facts.unreadable_of) {
    if (topics.contains(topic)) {
      sentences.insert(more.begin(), more.end());
    }
  }
  return {sentences.begin(), sentences.end()};
}

bool IsReached(const Facts& facts, Reach reach) {
  const bool is_host = facts.place == Place::kHost;
  switch (reach) {
    case Reach::kAll:
      return true;
    case Reach::kHosts:
      return is_host;
    case Reach::kGpuHosts:
      break;
  }
  return is_host && (facts.has_gpus() || facts.pci.is_unreadable);
}

void RunCheck(const Check& check, const Facts& facts, Diagnosis& diagnosis) {
  Findings findings;
  check.run(facts, findings);
  for (Finding& finding : findings.Take()) {
    finding.id = check.id;
    finding.message = check.title;
    finding.severity = std::min(finding.severity, check.severity);
    if (!facts.containers.has_systemd) {
      DropSystemd(finding.fix.commands);
    }
    diagnosis.findings.push_back(std::move(finding));
  }
}

}  // namespace

std::vector<Check> AllChecks() {
  std::vector<Check> all;
  for (const Group& group : Groups()) {
    all.insert(all.end(), group.checks.begin(), group.checks.end());
  }
  return all;
}

StatusOr<Check> FindCheck(std::string_view id) {
  std::vector<std::string_view> ids;
  for (const Check& check : AllChecks()) {
    if (check.id == id) {
      return check;
    }
    ids.push_back(check.id);
  }
  const std::optional<std::string_view> near = Nearest(id, ids);
  return InvalidArgument(
      "unknown check \"{}\": {}", Printable(id, 60),
      near ? fmt::format("did you mean {}?", *near) : "kgpu doctor --list shows all checks");
}

StatusOr<Diagnosis> Diagnose(const Facts& facts, const std::vector<std::string>& only) {
  for (const std::string& id : only) {
    RETURN_IF_ERROR(FindCheck(id).status());
  }
  Diagnosis diagnosis;
  std::set<Topic> topics;
  for (const Group& group : Groups()) {
    for (const Check& check : group.checks) {
      if (!only.empty() && std::ranges::find(only, check.id) == only.end()) {
        continue;
      }
      topics.insert(group.topics.begin(), group.topics.end());
      if (IsReached(facts, group.reach)) {
        ++diagnosis.checks;
        RunCheck(check, facts, diagnosis);
      } else {
        ++diagnosis.skipped;
      }
    }
  }
  diagnosis.unreadable = UnreadableOf(facts, topics);
  diagnosis.is_host_hidden = facts.place == Place::kContainer && diagnosis.skipped > 0;
  return diagnosis;
}

}  // namespace kgpu::doctor
