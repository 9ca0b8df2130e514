#include "src/cluster/controller/status.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <utility>

#include "src/kube/api/json.h"
#include "src/kube/api/writes.h"
#include "src/platform/base/strings.h"
#include "src/platform/base/time_text.h"

namespace kgpu::controller {
namespace {

namespace json = boost::json;

struct Verdict {
  bool is_ready = false;
  std::string reason{};
  std::string message{};
};

Verdict VerdictOf(const GroupSummary& group) {
  const std::string problems = Join(group.problems, "; ");
  const std::string counts = fmt::format("{} of {} nodes are ready", group.ready, group.nodes);
  if (group.nodes == 0) {
    return {true, "NoNodes", "no node with GPUs is selected"};
  }
  if (!group.driver_problem.empty()) {
    return {false, "DriverUnavailable", group.driver_problem};
  }
  if (group.failed > 0) {
    return {false, group.hold == "UpgradeStopped" ? group.hold : "UpgradeFailed",
            fmt::format("{} nodes failed: {}", group.failed, problems)};
  }
  if (group.upgrading > 0 || !group.starting.empty()) {
    return {false, "Upgrading",
            fmt::format("{} of {} nodes have the driver, {} in progress", group.up_to_date,
                        group.nodes, group.upgrading + group.starting.size())};
  }
  if (!group.hold.empty()) {
    return {false, group.hold == "UpgradeBudget" ? "UpgradeWaits" : group.hold,
            fmt::format("{} of {} nodes have the driver, {} nodes are unavailable",
                        group.up_to_date, group.nodes, group.unavailable)};
  }
  if (group.quarantined > 0) {
    return {false, "Quarantined", fmt::format("{}: {}", counts, problems)};
  }
  if (group.ready < group.nodes) {
    return {false, "NodesNotReady", fmt::format("{}: {}", counts, problems)};
  }
  if (group.up_to_date < group.nodes) {
    return {false, "DriverDiffers", problems};
  }
  if (!group.overlaps.empty()) {
    return {true, "GroupsOverlap",
            fmt::format("other groups select nodes too, and this one wins: {}",
                        Join(group.overlaps, ", "))};
  }
  return {true, "AllReady", counts};
}

// The time of the former condition, unless its status differs.
std::string TimeOf(const json::value* before, std::string_view status, WallTime now) {
  if (before != nullptr && before->is_array()) {
    for (const json::value& condition : before->get_array()) {
      const std::string_view time = kube::TextField(condition, {"lastTransitionTime"});
      if (kube::TextField(condition, {"type"}) == "Ready" && !time.empty() &&
          kube::TextField(condition, {"status"}) == status) {
        return std::string(time);
      }
    }
  }
  return FormatTime(now);
}

json::array Conditions(const Verdict& verdict, int64_t generation, const json::value* before,
                       WallTime now) {
  const char* status = verdict.is_ready ? "True" : "False";
  return {{{"type", "Ready"},
           {"status", status},
           {"reason", verdict.reason},
           {"message", verdict.message},
           {"lastTransitionTime", TimeOf(before, status, now)},
           {"observedGeneration", generation}}};
}

const json::value* GroupBefore(const json::value& status, std::string_view name) {
  const json::value* groups = kube::FindField(status, {"groups"});
  if (groups != nullptr && groups->is_array()) {
    for (const json::value& group : groups->get_array()) {
      if (kube::TextField(group, {"name"}) == name) {
        return kube::FindField(group, {"conditions"});
      }
    }
  }
  return nullptr;
}

// Of all groups: the worst one decides.
Verdict WholeVerdict(const PolicyEntry& entry, const PolicySummary& summary) {
  if (!entry.problem.empty()) {
    return {false, "Invalid",
            entry.policy ? fmt::format("{}; the former spec stays in force", entry.problem)
                         : entry.problem};
  }
  Verdict whole{true, "AllReady", ""};
  for (const GroupSummary& group : summary.groups) {
    const Verdict verdict = VerdictOf(group);
    if (whole.is_ready && (!verdict.is_ready || whole.reason == "AllReady")) {
      whole = {verdict.is_ready, verdict.reason,
               fmt::format("{}: {}", group.name, verdict.message)};
    }
  }
  if (entry.policy && !entry.policy->unknown_fields.empty()) {
    whole.message += fmt::format("; ignored, since this controller does not know them: {}",
                                 Join(entry.policy->unknown_fields, ", "));
  }
  return whole;
}

}  // namespace

json::value StatusOf(const PolicyEntry& entry, const PolicySummary& summary, WallTime now) {
  GroupSummary sum;
  // Without a valid spec nobody knows whether a node still starts.
  const std::set<std::string>& starting = entry.policy ? summary.starting : entry.starting;
  json::array groups;
  for (const GroupSummary& group : summary.groups) {
    sum.nodes += group.nodes;
    sum.ready += group.ready;
    sum.up_to_date += group.up_to_date;
    sum.upgrading += group.upgrading;
    sum.failed += group.failed;
    sum.quarantined += group.quarantined;
    groups.push_back({{"name", group.name},
                      {"nodes", group.nodes},
                      {"ready", group.ready},
                      {"upToDate", group.up_to_date},
                      {"upgrading", group.upgrading},
                      {"failed", group.failed},
                      {"quarantined", group.quarantined},
                      {"unavailable", group.unavailable},
                      {"conditions", Conditions(VerdictOf(group), entry.generation,
                                                GroupBefore(entry.status, group.name), now)}});
  }
  return {{"observedGeneration", entry.generation},
          {"nodes", sum.nodes},
          {"ready", sum.ready},
          {"upToDate", sum.up_to_date},
          {"upgrading", sum.upgrading},
          {"failed", sum.failed},
          {"quarantined", sum.quarantined},
          {"starting", json::array(starting.begin(), starting.end())},
          {"conditions", Conditions(WholeVerdict(entry, summary), entry.generation,
                                    kube::FindField(entry.status, {"conditions"}), now)},
          {"groups", std::move(groups)}};
}

bool IsSameStatus(const json::value& desired, const json::value& current) {
  // A newer controller may have left fields of its own.
  return current.is_object() && std::ranges::all_of(desired.get_object(), [&](const auto& field) {
           const json::value* value = current.get_object().if_contains(field.key());
           return value != nullptr && *value == field.value();
         });
}

Work WriteStatus(const PolicyEntry& entry, const json::value& status) {
  return {.key = fmt::format("policy/{}", entry.name),
          .what = fmt::format("policy {}: status", entry.name),
          .order = Work::Order::kStatus,
          .request = kube::PatchRequest(
              policy::kGpuPolicies.Object("", entry.name, "status"), kube::PatchType::kMerge,
              {{"metadata", {{"resourceVersion", entry.version}}}, {"status", status}},
              {.field_manager = std::string(fleet::kManager)}),
          .answer = AnswerKind::kPolicy};
}

}  // namespace kgpu::controller
