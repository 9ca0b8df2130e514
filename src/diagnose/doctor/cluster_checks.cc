// Compares what the cluster knows of this node with the node: labels, taints, counts, other owners.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "src/diagnose/doctor/check.h"
#include "src/diagnose/doctor/commands.h"
#include "src/diagnose/doctor/facts.h"
#include "src/platform/base/strings.h"

namespace kgpu::doctor {
namespace {

constexpr std::string_view kPresent = "nvidia.com/gpu.present";
constexpr std::string_view kCount = "nvidia.com/gpu.count";
constexpr std::string_view kDriver = "nvidia.com/cuda.driver-version.full";
constexpr std::string_view kCordon = "node.kubernetes.io/unschedulable";
constexpr std::string_view kGpuTaint = "nvidia.com/gpu";

const node::SeenNode* NodeOf(const Facts& facts) {
  return facts.heard.cluster ? &facts.heard.cluster->node : nullptr;
}

std::optional<std::string> LabelOf(const node::SeenNode& node, std::string_view key) {
  const auto found = node.labels.values.find(std::string(key));
  return found == node.labels.values.end() ? std::nullopt : std::optional(found->second);
}

const labels::Taint* TaintOf(const node::SeenNode& node, std::string_view key) {
  for (const node::SeenTaint& taint : node.taints) {
    if (taint.taint.key == key) {
      return &taint.taint;
    }
  }
  return nullptr;
}

void NoLabels(const Facts& facts, Findings& findings) {
  const node::SeenNode* node = NodeOf(facts);
  if (node != nullptr && facts.has_gpus() && !LabelOf(*node, kPresent)) {
    findings.Add(fmt::format("node {} has no label {}", node->name, kPresent),
                 {"kgpu labels --apply   # kgpu agent does this automatically"});
  }
}

void AddContradiction(const node::SeenNode& node, std::string_view key, const std::string& is,
                      const std::string& here, Findings& findings) {
  findings.Add(fmt::format("node {} has {}={}, this host {}", node.name, key, is, here),
               {fmt::format("kubectl label node {} {}-", node.name, key),
                "kgpu labels --apply   # kgpu agent does this automatically"});
}

void Contradictions(const Facts& facts, Findings& findings) {
  const node::SeenNode* node = NodeOf(facts);
  if (node == nullptr || !facts.has_gpus()) {
    return;
  }
  const std::optional<std::string> present = LabelOf(*node, kPresent);
  if (present && *present != "true") {
    AddContradiction(*node, kPresent, *present, "true", findings);
    return;
  }
  const std::optional<std::string> count = LabelOf(*node, kCount);
  // Where models differ, the label counts those of one.
  if (count && ParseUint(*count).value_or(0) > facts.pci.gpus.size()) {
    AddContradiction(*node, kCount, *count, fmt::format("{}", facts.pci.gpus.size()), findings);
  }
  const std::optional<std::string> driver = LabelOf(*node, kDriver);
  const std::string& loaded = facts.driver.module_version;
  if (driver && !loaded.empty() && *driver != loaded) {
    AddContradiction(*node, kDriver, *driver, loaded, findings);
  }
}

// The count of a resource that the kubelet should have reported; nothing: not known here.
std::optional<uint64_t> Wanted(const Facts& facts, const std::string& resource, bool is_capacity) {
  if (facts.heard.agent) {
    for (const AgentFacts::Resource& own : facts.heard.agent->resources) {
      if (own.name == resource) {
        return is_capacity ? own.capacity : own.allocatable;
      }
    }
  }
  if (is_capacity || !facts.kubelet.checkpoint) {
    return std::nullopt;  // the checkpoint has healthy devices only
  }
  const auto found = facts.kubelet.checkpoint->registered.find(resource);
  return found == facts.kubelet.checkpoint->registered.end()
             ? std::nullopt
             : std::optional<uint64_t>(found->second.size());
}

void Quantities(const Facts& facts, bool is_capacity, Findings& findings) {
  const node::SeenNode& node = *NodeOf(facts);
  for (const auto& [resource, text] : is_capacity ? node.capacity : node.allocatable) {
    const std::optional<uint64_t> wanted = Wanted(facts, resource, is_capacity);
    if (resource.starts_with("nvidia.com/") && wanted && ParseUint(text) != wanted) {
      findings.Add(fmt::format("node {} has {} {} {}, this host {}", node.name, text, resource,
                               is_capacity ? "as capacity" : "allocatable", *wanted),
                   {"kgpu status", fmt::format("{}   # if it stays so for a minute",
                                               RestartKubelet(facts.kubelet))});
    }
  }
}

void OtherCapacity(const Facts& facts, Findings& findings) {
  if (NodeOf(facts) != nullptr && facts.kubelet.daemon) {
    Quantities(facts, true, findings);
    Quantities(facts, false, findings);
  }
}

void NotReady(const Facts& facts, Findings& findings) {
  const node::SeenNode* node = NodeOf(facts);
  if (node != nullptr && node->gpu_ready && node->gpu_ready->status != "True") {
    findings.Add(fmt::format("condition GPUReady is {}: {}: {}", node->gpu_ready->status,
                             node->gpu_ready->reason, node->gpu_ready->message),
                 {"kgpu node status", "kgpu status"});
  }
}

void Cordoned(const Facts& facts, Findings& findings) {
  const node::SeenNode* node = NodeOf(facts);
  if (node != nullptr && facts.has_gpus() && TaintOf(*node, kCordon) != nullptr) {
    findings.Add(fmt::format("node {} is cordoned", node->name),
                 {fmt::format("kubectl uncordon {}", node->name)});
  }
}

void GpuTaint(const Facts& facts, Findings& findings) {
  const node::SeenNode* node = NodeOf(facts);
  const labels::Taint* taint = node == nullptr ? nullptr : TaintOf(*node, kGpuTaint);
  if (taint != nullptr && facts.has_gpus()) {
    findings.Add(
        fmt::format("node {} has the taint {}", node->name, labels::ToString(*taint)),
        {"# pods that need a GPU: tolerations: [{key: nvidia.com/gpu, operator: Exists}]",
         "# or enable the API server's admission plugin ExtendedResourceToleration, which adds it",
         fmt::format("kubectl taint node {} {}-   # allows all pods on the node", node->name,
                     kGpuTaint)});
  }
}

// Taints that every DaemonSet tolerates, or that do not repel pods.
bool IsHarmless(const labels::Taint& taint) {
  return taint.key.starts_with("node.kubernetes.io/") || taint.effect == "PreferNoSchedule";
}

void KeptOut(const Facts& facts, Findings& findings) {
  if (!facts.heard.cluster || !facts.heard.cluster->agent_sets) {
    return;
  }
  for (const AgentSet& set : *facts.heard.cluster->agent_sets) {
    for (const node::SeenTaint& taint : facts.heard.cluster->node.taints) {
      if (facts.has_gpus() && !IsHarmless(taint.taint) &&
          !Tolerates(set.tolerations, taint.taint)) {
        findings.Add(
            fmt::format("node {} has the taint {}, which DaemonSet {} does not tolerate",
                        facts.heard.cluster->node.name, labels::ToString(taint.taint), set.name),
            {"kubectl apply -f deploy/manifests/kgpu.yaml   # tolerates all taints",
             fmt::format("kubectl taint node {} {}-", facts.heard.cluster->node.name,
                         taint.taint.key)});
      }
    }
  }
}

node::Owners Others(const Facts& facts) {
  node::Evidence evidence;
  evidence.node = NodeOf(facts);
  if (facts.heard.cluster) {
    evidence.pods = facts.heard.cluster->pods;
  }
  for (const PluginSocket& socket : facts.kubelet.plugins) {
    if (socket.state == SocketState::kAnswers && socket.name.starts_with("nvidia")) {
      evidence.sockets.push_back(socket.name);
    }
  }
  return node::FindOwners(evidence);
}

void AddOwner(const Facts& facts, node::Owner owner, Findings& findings) {
  const node::Owners others = Others(facts);
  const node::OwnerFound* found = others.Find(owner);
  std::vector<std::string> marks;
  if (const auto here = facts.owner_marks.find(owner); here != facts.owner_marks.end()) {
    marks = here->second;
  }
  if (found != nullptr && found->is_running) {
    marks.insert(marks.end(), found->marks.begin(), found->marks.end());
  }
  if (marks.empty() || !facts.has_gpus()) {
    return;
  }
  std::vector<std::string> fix;
  if (owner != node::Owner::kOperator) {
    fix.push_back(fmt::format("kgpu node adopt --from {}   # kgpu takes over its work",
                              node::ToString(owner)));
  }
  if (found != nullptr && !found->removal.empty()) {
    fix.push_back(found->removal);
  } else {
    fix.emplace_back("kgpu node status --kubeconfig FILE   # prints the command that removes it");
  }
  findings.Add(Join(marks, ", "), std::move(fix));
}

void Nfd(const Facts& facts, Findings& findings) {
  AddOwner(facts, node::Owner::kNfd, findings);
}

void Gfd(const Facts& facts, Findings& findings) {
  AddOwner(facts, node::Owner::kGfd, findings);
}

void Plugin(const Facts& facts, Findings& findings) {
  if (TwiceServed(facts).empty()) {
    AddOwner(facts, node::Owner::kPlugin, findings);
  }
}

void Operator(const Facts& facts, Findings& findings) {
  AddOwner(facts, node::Owner::kOperator, findings);
}

void Leftovers(const Facts& facts, Findings& findings) {
  for (const node::OwnerFound& found : Others(facts).found) {
    // Without the list of pods it is unknown whether it runs.
    if (!found.is_running && facts.heard.cluster && facts.heard.cluster->pods &&
        !facts.owner_marks.contains(found.owner)) {
      findings.Add(fmt::format("{} no longer runs here but left: {}", node::TitleOf(found.owner),
                               Join(found.marks, ", ")),
                   {"kgpu node status"});
    }
  }
}

constexpr std::array kClusterChecks = {
    Check{"labels-missing", "The node has no GPU labels", Severity::kWarning,
          "Jobs and the GPU operator's components select nodes by these labels.", NoLabels},
    Check{"labels-contradict", "A node label is wrong", Severity::kWarning,
          "It was written before a GPU or the driver changed, or manually: jobs land where they "
          "cannot run.",
          Contradictions},
    Check{"capacity-differs", "The cluster counts a different number of GPUs than this node",
          Severity::kError,
          "The scheduler uses what the kubelet last reported: pods are rejected at admission, or "
          "GPUs stay idle.",
          OtherCapacity},
    Check{"node-gpu-not-ready", "The node's GPUs are not ready for pods", Severity::kWarning,
          "kgpu keeps the node closed until the whole chain of driver, engine, device plugin and "
          "GPU test works.",
          NotReady},
    Check{"node-cordoned", "The node takes no new pods", Severity::kWarning,
          "Somebody cordoned it, e.g. for a drain or an upgrade, and has not uncordoned it.",
          Cordoned},
    Check{
        "taint-gpu", "Only pods that tolerate the GPU taint run here", Severity::kInfo,
        "The taint keeps other work off the node; a GPU pod without the toleration stays pending.",
        GpuTaint},
    Check{"taint-agent", "A taint keeps the agent off this node", Severity::kError,
          "Its DaemonSet's tolerations were reduced: without an agent no GPU is advertised.",
          KeptOut},
    Check{"owner-nfd", "Node Feature Discovery labels this node", Severity::kInfo,
          "kgpu creates the same labels and leaves them to it while it runs.", Nfd},
    Check{"owner-gfd", "GPU Feature Discovery labels this node", Severity::kInfo,
          "kgpu creates the same labels and leaves them to it while it runs.", Gfd},
    Check{"owner-plugin", "NVIDIA's device plugin serves this node", Severity::kInfo,
          "kgpu leaves the GPUs to it while it runs: two plugins for one resource do not work.",
          Plugin},
    Check{"owner-operator", "NVIDIA's GPU operator manages this node", Severity::kInfo,
          "It runs driver, toolkit, device plugin and feature discovery in its own pods and "
          "reverts manual changes: disable a component in its chart first.",
          Operator},
    Check{"owner-left", "A component that no longer runs left labels behind", Severity::kInfo,
          "Nothing updates them: they are outdated.", Leftovers},
};

}  // namespace

std::span<const Check> ClusterChecks() {
  return kClusterChecks;
}

}  // namespace kgpu::doctor
