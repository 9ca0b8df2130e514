// The scheduler's filters for one node, in the order in which people would look.
#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "src/diagnose/explain/judge.h"
#include "src/diagnose/explain/placing.h"
#include "src/gpu/cuda/requirement.h"
#include "src/platform/base/shell.h"
#include "src/platform/base/strings.h"

namespace kgpu::explain {
namespace {

constexpr std::string_view kUnschedulable = "node.kubernetes.io/unschedulable";
constexpr std::string_view kGate = "kgpu.dev/not-ready";
constexpr std::string_view kQuarantined = "kgpu.dev/quarantined";

void Readiness(const Case& c, const Node& node, Reasons& out) {
  const Condition* ready = FindCondition(node.conditions, "Ready");
  const bool is_tolerated =
      Tolerates(c.pod.tolerations, {"node.kubernetes.io/not-ready", "", "NoSchedule"});
  if (ready != nullptr && ready->status != "True" && !is_tolerated) {
    out.push_back(Found(
        "node-not-ready", TextOf(*ready),
        {fmt::format("kubectl describe node {}", ShellWord(node.name)),
         "systemctl status kubelet   # on the node", "journalctl -u kubelet --since -10min"}));
  }
  const Taint cordon{std::string(kUnschedulable), "", "NoSchedule"};
  if (node.is_unschedulable && !Tolerates(c.pod.tolerations, cordon)) {
    out.push_back(Found(
        "node-cordoned", "spec.unschedulable is true",
        {fmt::format("kubectl describe node {}   # shows who cordoned it, and why",
                     ShellWord(node.name)),
         fmt::format("# when it may take pods again: kubectl uncordon {}", ShellWord(node.name))}));
  }
}

struct Pressure {
  std::string_view condition;
  std::string_view taint;
};
constexpr std::array kPressures = {
    Pressure{"DiskPressure", "node.kubernetes.io/disk-pressure"},
    Pressure{"MemoryPressure", "node.kubernetes.io/memory-pressure"},
    Pressure{"PIDPressure", "node.kubernetes.io/pid-pressure"},
    Pressure{"NetworkUnavailable", "node.kubernetes.io/network-unavailable"},
};

// Taints for conditions that are reported by a reason of their own.
bool IsReportedElsewhere(const Node& node, const Taint& taint) {
  if (taint.key == kUnschedulable) {
    return node.is_unschedulable;
  }
  const Condition* ready = FindCondition(node.conditions, "Ready");
  const bool is_ready = ready == nullptr || ready->status == "True";
  return !is_ready && (taint.key == "node.kubernetes.io/not-ready" ||
                       taint.key == "node.kubernetes.io/unreachable");
}

void Pressures(const Case& c, const Node& node, Reasons& out) {
  for (const Pressure& pressure : kPressures) {
    const Condition* condition = FindCondition(node.conditions, pressure.condition);
    const bool is_tolerated =
        Tolerates(c.pod.tolerations, {std::string(pressure.taint), "", "NoSchedule"});
    if (condition != nullptr && condition->status == "True" && !is_tolerated) {
      out.push_back(Found("node-pressure", TextOf(*condition),
                          {fmt::format("kubectl describe node {}", ShellWord(node.name)),
                           "df -h /var/lib/kubelet; free -h   # on the node"}));
    }
  }
}

bool IsPressure(const Node& node, const Taint& taint) {
  return std::ranges::any_of(kPressures, [&](const Pressure& pressure) {
    const Condition* condition = FindCondition(node.conditions, pressure.condition);
    return pressure.taint == taint.key && condition != nullptr && condition->status == "True";
  });
}

report::Finding GateReason(const Node& node, const Taint& taint) {
  const Condition* ready = FindCondition(node.conditions, "GPUReady");
  return Found(
      "gpu-gate-closed",
      fmt::format("taint {}; {}", TaintText(taint),
                  ready == nullptr ? "no agent has reported on the node yet (no GPUReady)"
                                   : TextOf(*ready)),
      {fmt::format("kgpu node status --node {}", ShellWord(node.name)),
       fmt::format("kubectl get pods -A -o wide --field-selector spec.nodeName={} | grep kgpu",
                   ShellWord(node.name))});
}

// Taints that the cluster, its clouds and its autoscalers add and remove.
bool IsOfOthers(std::string_view key) {
  constexpr std::array<std::string_view, 5> kKeys = {
      "node.kubernetes.io/", "cloudprovider", "cluster-autoscaler", "autoscaler", "karpenter"};
  return key == "ToBeDeletedByClusterAutoscaler" || key == "DeletionCandidateOfClusterAutoscaler" ||
         std::ranges::any_of(kKeys, [key](std::string_view part) {
           return key.find(part) != std::string_view::npos;
         });
}

// The controller sets it again as long as its reason lasts.
report::Finding QuarantineReason(const Node& node, const Taint& taint) {
  const Condition* healthy = FindCondition(node.conditions, "GPUHealthy");
  return Found(
      "taint-not-tolerated",
      fmt::format("taint {}: kgpu's quarantine; {}", TaintText(taint),
                  healthy == nullptr ? "no condition GPUHealthy" : TextOf(*healthy)),
      {fmt::format("kgpu node status --node {}   # the fault, and its fix", ShellWord(node.name)),
       "# the taint goes by itself once the GPUs are healthy and validated"});
}

report::Finding TaintReason(const Node& node, const Taint& taint) {
  std::string toleration = taint.value.empty()
                               ? fmt::format("key: {}, operator: Exists", taint.key)
                               : fmt::format("key: {}, value: \"{}\"", taint.key, taint.value);
  std::vector<std::string> fix = {
      fmt::format("kubectl describe node {}   # shows who set the taint, and why",
                  ShellWord(node.name)),
      fmt::format("# if the pod may run there anyway: spec.tolerations: {{{}, effect: {}}}",
                  toleration, taint.effect)};
  if (!IsOfOthers(taint.key)) {
    fix.push_back(fmt::format("# or, if the taint is yours: kubectl taint node {} {}-",
                              ShellWord(node.name),
                              ShellWord(fmt::format("{}:{}", taint.key, taint.effect))));
  }
  return Found("taint-not-tolerated", TaintText(taint), std::move(fix));
}

void Taints(const Case& c, const Node& node, Reasons& out) {
  for (const Taint& taint : node.taints) {
    if (taint.effect == "PreferNoSchedule" || Tolerates(c.pod.tolerations, taint) ||
        IsReportedElsewhere(node, taint) || IsPressure(node, taint)) {
      continue;
    }
    out.push_back(taint.key == kGate          ? GateReason(node, taint)
                  : taint.key == kQuarantined ? QuarantineReason(node, taint)
                                              : TaintReason(node, taint));
  }
}

std::string HasText(const Node& node, std::string_view key) {
  const auto found = node.labels.find(key);
  return found == node.labels.end() ? "the node has no such label"
                                    : fmt::format("the node has {}", found->second);
}

// A label that kgpu or NFD finds out is not to be set by hand.
bool IsFoundOut(std::string_view key) {
  return key.starts_with("nvidia.com/") || key.starts_with("kgpu.dev/") ||
         key.starts_with("feature.node.kubernetes.io/") || key.find("kubernetes.io/") != key.npos;
}

void NodeSelectors(const Case& c, const Node& node, Reasons& out) {
  for (const auto& [key, value] : c.pod.selector) {
    if (Holds({key, "In", {value}}, node.labels)) {
      continue;
    }
    out.push_back(Found(
        "selector-differs", fmt::format("requires {}={}; {}", key, value, HasText(node, key)),
        {IsFoundOut(key)
             ? fmt::format("# change spec.nodeSelector[\"{}\"]", key)
             : fmt::format("# if the node qualifies: kubectl label node {} {}",
                           ShellWord(node.name), ShellWord(fmt::format("{}={}", key, value)))}));
  }
  if (!c.pod.affinity || MatchesAny(*c.pod.affinity, node)) {
    return;
  }
  std::vector<std::string> terms;
  for (const SelectorTerm& term : *c.pod.affinity) {
    std::vector<std::string> unmet;
    for (const Requirement& requirement : Unmet(term, node)) {
      unmet.push_back(fmt::format("{}; {}", RequirementText(requirement),
                                  requirement.key == "metadata.name"
                                      ? fmt::format("the node has {}", node.name)
                                      : HasText(node, requirement.key)));
    }
    if (!unmet.empty()) {
      terms.push_back(Join(unmet, "; and "));
    }
  }
  out.push_back(
      Found("affinity-differs",
            terms.empty() ? "its terms are empty, and match nothing" : Join(terms, "; or "),
            {"# change spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuring"
             "Execution"}));
}

void HostResources(const Case& c, const Node& node, Reasons& out) {
  std::vector<std::string> shorts;
  for (const auto& [resource, want] : c.wants) {
    // A node object that does not report of its CPUs is one of a test or a cut-down dump.
    if (IsExtended(resource) || !node.allocatable.contains(resource) ||
        c.FreeOn(node, resource) >= want) {
      continue;
    }
    shorts.push_back(fmt::format("requests {} {}, {} free of {}", AmountText(resource, want),
                                 resource, AmountText(resource, c.FreeOn(node, resource)),
                                 AmountText(resource, AmountOf(node.allocatable, resource))));
  }
  const size_t pods = c.UseOf(node).holders.size();
  const auto room = node.allocatable.find("pods");
  if (room != node.allocatable.end() && static_cast<int64_t>(pods) * 1000 >= room->second.milli) {
    shorts.push_back(fmt::format("{} pods of {}", pods, AmountText("", room->second)));
  }
  if (!shorts.empty()) {
    out.push_back(Found(
        "host-resources-short", Join(shorts, "; "),
        {fmt::format("kubectl describe node {}   # Allocated resources", ShellWord(node.name)),
         "# lower the pod's requests, or stop pods that use them"}));
  }
}

std::string LabelOf(const Node& node, std::string_view key) {
  const auto found = node.labels.find(key);
  return found == node.labels.end() ? "" : found->second;
}

void Cuda(const Case& c, const Node& node, Reasons& out) {
  cuda::HostFacts host;
  host.driver_version = LabelOf(node, "nvidia.com/cuda.driver-version.full");
  host.cuda_version = LabelOf(node, "nvidia.com/cuda.runtime-version.full");
  if (host.driver_version.empty() && host.cuda_version.empty()) {
    return;
  }
  if (const std::string major = LabelOf(node, "nvidia.com/gpu.compute.major"); !major.empty()) {
    cuda::GpuFacts& gpu = host.gpus.emplace_back();
    gpu.name = LabelOf(node, "nvidia.com/gpu.product");
    gpu.compute_capability =
        fmt::format("{}.{}", major, LabelOf(node, "nvidia.com/gpu.compute.minor"));
  }
  for (const ContainerSpec& container : c.pod.containers) {
    const cuda::Verdict verdict = cuda::CheckEnvironment(container.environment, host);
    if (verdict.outcome != cuda::Outcome::kSatisfied) {
      out.push_back(Found("driver-too-old",
                          fmt::format("container {}: {}", container.name, verdict.reason),
                          {"# the scheduler does not check this: the container would fail there"}));
    }
  }
}

}  // namespace

Reasons NodeReasons(const Case& c, const Node& node) {
  Reasons out;
  Readiness(c, node, out);
  Pressures(c, node, out);
  Taints(c, node, out);
  NodeSelectors(c, node, out);
  std::ranges::move(DeviceReasons(c, node), std::back_inserter(out));
  std::ranges::move(NodeClaimReasons(c, node), std::back_inserter(out));
  HostResources(c, node, out);
  Cuda(c, node, out);
  return out;
}

}  // namespace kgpu::explain
