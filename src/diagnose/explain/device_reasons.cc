// What a node has of the devices that the pod asks for, and who has them.
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "src/diagnose/explain/judge.h"
#include "src/gpu/health/rule_table.h"
#include "src/platform/base/shell.h"
#include "src/platform/base/strings.h"

namespace kgpu::explain {
namespace {

using Reasons = std::vector<Reason>;

Amount CapacityOf(const Node& node, std::string_view resource) {
  return std::max(AmountOf(node.capacity, resource), AmountOf(node.allocatable, resource));
}

bool OffersOfDomain(const Node& node, std::string_view resource) {
  const std::string_view domain = resource.substr(0, resource.find('/') + 1);
  return std::ranges::any_of(node.allocatable, [&](const auto& entry) {
    return entry.first.starts_with(domain) && entry.second.milli > 0;
  });
}

std::vector<std::string> PluginMend(const Node& node) {
  return {fmt::format("kubectl get pods -A -o wide --field-selector spec.nodeName={}",
                      ShellWord(node.name)),
          "kgpu status   # on the node: what stands between the GPUs and the kubelet",
          "kgpu doctor   # on the node: driver, runtime, kubelet"};
}

Reason NotOffered(const Node& node, std::string_view resource) {
  if (HasGpus(node) && !OffersOfDomain(node, resource)) {
    const Condition* ready = FindCondition(node.conditions, "GPUReady");
    return {"plugin-not-registered",
            fmt::format("labels say that it has GPUs, allocatable has no {}{}", resource,
                        ready == nullptr ? "" : fmt::format("; {}", TextOf(*ready))),
            PluginMend(node)};
  }
  if (OffersOfDomain(node, resource)) {
    return {"resource-other",
            fmt::format("wants {}; it offers {}", resource, Offers(node)),
            {"# ask for one of these, or give the node a pool of that name: kgpu config check"}};
  }
  return {"resource-not-offered", fmt::format("has no {}", resource), {}};
}

const Condition* SickCondition(const Node& node) {
  const Condition* healthy = FindCondition(node.conditions, "GPUHealthy");
  return healthy != nullptr && healthy->status != "True" ? healthy : nullptr;
}

Reason Withheld(const Node& node, std::string_view resource, Amount want, Amount free) {
  const Condition* sick = SickCondition(node);
  const Amount less = CapacityOf(node, resource) - AmountOf(node.allocatable, resource);
  std::vector<std::string> mend = {"kgpu health   # on the node: which GPU, why, and its mend"};
  const auto rule = sick == nullptr ? std::nullopt : health::FindRule(sick->reason);
  if (rule) {
    mend.push_back(
        fmt::format("# {}: {} ({})", sick->reason, rule->text, health::ToString(rule->action)));
  }
  return {"gpu-withheld",
          fmt::format("wants {} {}, {} free; {} of {} withheld: {}", AmountText("", want), resource,
                      AmountText("", free), AmountText("", less),
                      AmountText("", CapacityOf(node, resource)),
                      sick == nullptr ? "its plugin calls them unhealthy (no condition GPUHealthy)"
                                      : TextOf(*sick)),
          std::move(mend)};
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
                    holder->is_deleted ? ", ending" : ""));
  }
  if (others > 0) {
    names.push_back(fmt::format("{} more", others));
  }
  return Join(names, ", ");
}

Reason InUse(const Case& c, const Node& node, std::string_view resource, Amount want) {
  const std::string who = WhoHas(c, node, resource);
  return {
      "gpu-in-use",
      fmt::format("wants {} {}; {} free of {}{}", AmountText("", want), resource,
                  AmountText("", c.FreeOn(node, resource)),
                  AmountText("", AmountOf(node.allocatable, resource)),
                  who.empty() ? "" : fmt::format(": {}", who)),
      {fmt::format("kubectl get pods -A --field-selector spec.nodeName={}", ShellWord(node.name)),
       "# wait until one of them ends, end one, or add a node"}};
}

void DevicesOnNode(const Case& c, const Node& node, std::string_view resource, Reasons& out) {
  const Amount want = AmountOf(c.wants, resource);
  const Amount capacity = CapacityOf(node, resource);
  const Amount allocatable = AmountOf(node.allocatable, resource);
  const Amount free = c.FreeOn(node, resource);
  if (free >= want || c.IsLeftToDra(node, resource)) {
    return;  // what DRA may serve is told as not judged
  }
  if (capacity.milli == 0) {
    out.push_back(NotOffered(node, resource));
  } else if (want > capacity) {
    out.push_back({"gpu-too-few",
                   fmt::format("wants {} {}, it has {}", AmountText("", want), resource,
                               AmountText("", capacity)),
                   {}});
  } else if (allocatable.milli == 0 && SickCondition(node) == nullptr) {
    out.push_back({"plugin-not-registered",
                   fmt::format("capacity {} has {}, allocatable 0: the plugin has gone, or calls "
                               "every device unhealthy",
                               resource, AmountText("", capacity)),
                   PluginMend(node)});
  } else if (capacity - AmountOf(c.UseOf(node).used, resource) >= want) {
    out.push_back(Withheld(node, resource, want, free));
  } else {
    out.push_back(InUse(c, node, resource, want));
  }
}

}  // namespace

std::vector<Reason> DeviceReasons(const Case& c, const Node& node) {
  Reasons out;
  for (const std::string& resource : c.devices) {
    DevicesOnNode(c, node, resource, out);
  }
  return out;
}

}  // namespace kgpu::explain
