// What the scheduler reports and does for a pending pod.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "src/diagnose/explain/judge.h"
#include "src/platform/base/shell.h"
#include "src/platform/base/strings.h"

namespace kgpu::explain {
namespace {

// Whether ending the pods of lower priority would make room on `node`.
bool CouldPreempt(const Case& c, const Node& node, std::vector<std::string>& victims) {
  victims.clear();
  for (const std::string& resource : c.devices) {
    Amount free = c.FreeOn(node, resource);
    for (const Holder* holder : c.UseOf(node).holders) {
      const Amount has = AmountOf(holder->requests, resource);
      if (holder->priority < c.pod.priority && has.milli > 0 &&
          free < AmountOf(c.wants, resource)) {
        free = free + has;
        victims.push_back(holder->title);
      }
    }
    if (free < AmountOf(c.wants, resource)) {
      return false;
    }
  }
  return !victims.empty();
}

void Preemption(const Case& c, Reasons& out) {
  if (!c.pod.nominated_node.empty()) {
    out.push_back(Found(
        "preempting",
        fmt::format("status.nominatedNodeName is {}: pods of lower priority are preempted there",
                    c.pod.nominated_node),
        {fmt::format("kubectl get pods -A -o wide --field-selector spec.nodeName={}",
                     ShellWord(c.pod.nominated_node))}));
    return;
  }
  std::vector<std::string> victims;
  const Node* chosen = nullptr;
  std::vector<std::string> those;
  for (const Node& node : c.facts.nodes) {
    Reasons reasons = NodeReasons(c, node);
    std::erase_if(reasons, [](const report::Finding& reason) { return !IsBlocking(reason); });
    if (reasons.empty()) {
      return;  // it is not for want of devices that the pod waits
    }
    const bool is_only_in_use = std::ranges::all_of(
        reasons, [](const report::Finding& reason) { return reason.id == "gpu-in-use"; });
    if (chosen == nullptr && is_only_in_use && CouldPreempt(c, node, victims)) {
      chosen = &node;
      those = victims;
    }
  }
  if (chosen == nullptr) {
    return;
  }
  const bool is_never = c.pod.preemption_policy == "Never";
  out.push_back(Found(
      "preemption-possible",
      fmt::format("on {}: {} (priority below {}); {}", chosen->name, Join(those, ", "),
                  c.pod.priority,
                  is_never ? "preemptionPolicy is Never, so they are not preempted"
                           : "the scheduler preempts them unless a disruption budget forbids it"),
      {"kubectl get pdb -A"}));
}

void Scheduler(const Case& c, Reasons& out) {
  const std::string& name = c.pod.scheduler;
  if (!name.empty() && name != "default-scheduler") {
    out.push_back(
        Found("scheduler-other",
              fmt::format("spec.schedulerName is {}: its rules are not checked here", name),
              {fmt::format("kubectl get pods -A | grep -e {}", ShellWord(name))}));
  }
  const Event* event = LastEvent(c, {"FailedScheduling"});
  const Condition* placed = FindCondition(c.pod.conditions, "PodScheduled");
  const std::string_view said = event != nullptr    ? std::string_view(event->message)
                                : placed != nullptr ? std::string_view(placed->message)
                                                    : std::string_view();
  if (!said.empty()) {
    out.push_back(Found("scheduler-says", std::string(said), {}));
  } else if (placed == nullptr && event == nullptr && c.pod.gates.empty() && !c.pod.uid.empty()) {
    out.push_back(
        Found("scheduler-silent", "no condition PodScheduled, no event FailedScheduling",
              {"kubectl get pods -n kube-system -l component=kube-scheduler",
               fmt::format("kubectl get events -n {} --field-selector involvedObject.name={}",
                           ShellWord(c.pod.space), ShellWord(c.pod.name))}));
  }
}

}  // namespace

Reasons SchedulerReasons(const Case& c) {
  Reasons out;
  Preemption(c, out);
  Scheduler(c, out);
  return out;
}

}  // namespace kgpu::explain
