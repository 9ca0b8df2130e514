// Which of the devices that the pod requests a node has, and who uses them.
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "src/diagnose/explain/judge.h"
#include "src/gpu/health/rule_table.h"
#include "src/platform/base/shell.h"
#include "src/platform/base/strings.h"

namespace kgpu::explain {
namespace {

Amount CapacityOf(const Node& node, std::string_view resource) {
  return std::max(AmountOf(node.capacity, resource), AmountOf(node.allocatable, resource));
}

bool OffersOfDomain(const Node& node, std::string_view resource) {
  const std::string_view domain = resource.substr(0, resource.find('/') + 1);
  return std::ranges::any_of(node.allocatable, [&](const auto& entry) {
    return entry.first.starts_with(domain) && entry.second.milli > 0;
  });
}

std::vector<std::string> PluginFix(const Node& node) {
  return {fmt::format("kubectl get pods -A -o wide --field-selector spec.nodeName={}",
                      ShellWord(node.name)),
          "kgpu status   # on the node: problems between the GPUs and the kubelet",
          "kgpu doctor   # on the node: driver, runtime, kubelet"};
}

// What an agent says about the MIG layout that the node is to have; empty: it has it, or none was
// requested. Source: docs/reference/mig.md.
std::string MigNote(const Node& node) {
  const auto state = node.labels.find("nvidia.com/mig.config.state");
  const auto config = node.labels.find("nvidia.com/mig.config");
  if (state == node.labels.end() || config == node.labels.end() || state->second == "success") {
    return "";
  }
  return fmt::format("its MIG layout {} is {}", config->second, state->second);
}

std::vector<std::string> MigFix(const Node& node) {
  return {fmt::format("kubectl events --for node/{}   # which GPU waits for whom, or why it failed",
                      ShellWord(node.name)),
          "kgpu status   # on the node: the same"};
}

report::Finding NotOffered(const Node& node, std::string_view resource) {
  if (HasGpus(node) && !OffersOfDomain(node, resource)) {
    const Condition* ready = FindCondition(node.conditions, "GPUReady");
    return Found("plugin-not-registered",
                 fmt::format("labels report GPUs, but allocatable has no {}{}", resource,
                             ready == nullptr ? "" : fmt::format("; {}", TextOf(*ready))),
                 PluginFix(node));
  }
  if (const std::string note = MigNote(node); !note.empty()) {
    return Found("mig-layout-open", fmt::format("has no {}; {}", resource, note), MigFix(node));
  }
  if (OffersOfDomain(node, resource)) {
    return Found(
        "resource-other", fmt::format("requests {}; the node offers {}", resource, Offers(node)),
        {"# request one of these, or add a pool of that name to the node: kgpu config check"});
  }
  return Found("resource-not-offered", fmt::format("has no {}", resource), {});
}

const Condition* UnhealthyCondition(const Node& node) {
  const Condition* healthy = FindCondition(node.conditions, "GPUHealthy");
  return healthy != nullptr && healthy->status != "True" ? healthy : nullptr;
}

report::Finding Withheld(const Node& node, std::string_view resource, Amount want, Amount free) {
  const Condition* unhealthy = UnhealthyCondition(node);
  if (const std::string note = MigNote(node); unhealthy == nullptr && !note.empty()) {
    return Found("mig-layout-open",
                 fmt::format("requests {} {}, {} free; {}", AmountText("", want), resource,
                             AmountText("", free), note),
                 MigFix(node));
  }
  const Amount less = CapacityOf(node, resource) - AmountOf(node.allocatable, resource);
  std::vector<std::string> fix = {"kgpu health   # on the node: which GPU, why, and how to fix it"};
  const auto rule = unhealthy == nullptr ? std::nullopt : health::FindRule(unhealthy->reason);
  if (rule) {
    fix.push_back(fmt::format("# {}: {} ({})", unhealthy->reason, rule->text,
                              health::ToString(rule->action)));
  }
  return Found("gpu-withheld",
               fmt::format("requests {} {}, {} free; {} of {} unhealthy: {}", AmountText("", want),
                           resource, AmountText("", free), AmountText("", less),
                           AmountText("", CapacityOf(node, resource)),
                           unhealthy == nullptr
                               ? "its plugin reports them unhealthy (no condition GPUHealthy)"
                               : TextOf(*unhealthy)),
               std::move(fix));
}

std::string WhoHas(const Case& c, const Node& node, std::string_view resource) {
  constexpr size_t kNamed = 4;
  std::vector<std::string> names;
  size_t others = 0;
  for (const Holder* holder : c.UseOf(node).holders) {
    const Amount has = AmountOf(holder->requests, resource);
    if (has.milli == 0) {
      continue;
    }
    if (names.size() == kNamed) {
      ++others;
      continue;
    }
    names.push_back(
        fmt::format("{} ({}{}{})", holder->title, AmountText(resource, has),
                    holder->since.empty() ? "" : fmt::format(" since {}", holder->since),
                    holder->is_deleted ? ", terminating" : ""));
  }
  if (others > 0) {
    names.push_back(fmt::format("{} more", others));
  }
  return Join(names, ", ");
}

report::Finding InUse(const Case& c, const Node& node, std::string_view resource, Amount want) {
  const std::string who = WhoHas(c, node, resource);
  return Found(
      "gpu-in-use",
      fmt::format("requests {} {}; {} free of {}{}", AmountText("", want), resource,
                  AmountText("", c.FreeOn(node, resource)),
                  AmountText("", AmountOf(node.allocatable, resource)),
                  who.empty() ? "" : fmt::format(": {}", who)),
      {fmt::format("kubectl get pods -A --field-selector spec.nodeName={}", ShellWord(node.name)),
       "# wait until one of them ends, delete one, or add a node"});
}

void DevicesOnNode(const Case& c, const Node& node, std::string_view resource, Reasons& out) {
  const Amount want = AmountOf(c.wants, resource);
  const Amount capacity = CapacityOf(node, resource);
  const Amount allocatable = AmountOf(node.allocatable, resource);
  const Amount free = c.FreeOn(node, resource);
  if (free >= want || c.IsLeftToDra(node, resource)) {
    return;  // what DRA may provide is reported as not judged
  }
  if (capacity.milli == 0) {
    out.push_back(NotOffered(node, resource));
  } else if (want > capacity) {
    out.push_back(Found("gpu-too-few",
                        fmt::format("requests {} {}, the node has {}", AmountText("", want),
                                    resource, AmountText("", capacity)),
                        {}));
  } else if (allocatable.milli == 0 && UnhealthyCondition(node) == nullptr &&
             MigNote(node).empty()) {
    out.push_back(Found("plugin-not-registered",
                        fmt::format("capacity {} has {}, allocatable 0: the plugin has stopped, or "
                                    "reports all devices unhealthy",
                                    resource, AmountText("", capacity)),
                        PluginFix(node)));
  } else if (capacity - AmountOf(c.UseOf(node).used, resource) >= want) {
    out.push_back(Withheld(node, resource, want, free));
  } else {
    out.push_back(InUse(c, node, resource, want));
  }
}

}  // namespace

Reasons DeviceReasons(const Case& c, const Node& node) {
  Reasons out;
  for (const std::string& resource : c.devices) {
    DevicesOnNode(c, node, resource, out);
  }
  return out;
}

}  // namespace kgpu::explain
