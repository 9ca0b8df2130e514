// A pod with all that it is held against.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "src/diagnose/explain/judge.h"
#include "src/platform/base/strings.h"

namespace kgpu::explain {

Case::Case(const Facts& all_facts, const Pod& the_pod)
    : facts(all_facts), pod(the_pod), wants(pod.Requests()) {
  for (const auto& [resource, amount] : wants) {
    if (IsExtended(resource)) {
      devices.push_back(resource);
    }
  }
  for (const Holder& holder : facts.holders) {
    if (holder.is_nominated && holder.priority < pod.priority) {
      continue;  // the scheduler does not keep room from a pod of higher priority
    }
    NodeUse& use = uses[holder.node];
    AddTo(use.used, holder.requests);
    use.holders.push_back(&holder);
  }
  for (const Claim& claim : facts.claims) {
    for (const ClaimResult& result : claim.results) {
      if (!result.is_shared) {
        taken.emplace(result.driver, result.pool, result.device);
      }
    }
  }
  std::map<std::pair<std::string_view, std::string_view>, int64_t> newest;
  for (const Slice& slice : facts.slices) {
    int64_t& generation = newest[{slice.driver, slice.pool}];
    generation = std::max(generation, slice.generation);
  }
  for (const Slice& slice : facts.slices) {
    if (slice.generation == newest[{slice.driver, slice.pool}]) {
      slices[slice.node].push_back(&slice);
    }
  }
  for (const ClaimUse& use : pod.claims) {
    for (const Claim& claim : facts.claims) {
      if (claim.space == pod.space && claim.name == use.claim) {
        claims.push_back(&claim);
      }
    }
  }
}

const NodeUse& Case::UseOf(const Node& node) const {
  static const NodeUse kNone;
  const auto found = uses.find(node.name);
  return found == uses.end() ? kNone : found->second;
}

Amount Case::FreeOn(const Node& node, std::string_view resource) const {
  const Amount free = AmountOf(node.allocatable, resource) - AmountOf(UseOf(node).used, resource);
  return std::max(free, Amount());
}

const DeviceClass* Case::ClassOf(std::string_view resource) const {
  constexpr std::string_view kImplicit = "deviceclass.resource.kubernetes.io/";
  for (const DeviceClass& one : facts.device_classes) {
    if (one.resource == resource ||
        (resource.starts_with(kImplicit) && resource.substr(kImplicit.size()) == one.name)) {
      return &one;
    }
  }
  return nullptr;
}

// Source: Kubernetes' scheduler, the plugin of nodes' resources: only where the node's kubelet
// gives out none.
bool Case::IsLeftToDra(const Node& node, std::string_view resource) const {
  return AmountOf(node.allocatable, resource).milli == 0 && ClassOf(resource) != nullptr;
}

bool HasGpus(const Node& node) {
  for (const char* label : {"nvidia.com/gpu.present", "feature.node.kubernetes.io/pci-10de.present",
                            "feature.node.kubernetes.io/pci-0300_10de.present",
                            "feature.node.kubernetes.io/pci-0302_10de.present"}) {
    const auto found = node.labels.find(std::string_view(label));
    if (found != node.labels.end() && found->second == "true") {
      return true;
    }
  }
  return node.labels.contains(std::string_view("nvidia.com/gpu.product"));
}

std::string TextOf(const Condition& condition) {
  return fmt::format("{}={}{}{}", condition.type, condition.status,
                     condition.reason.empty() ? "" : fmt::format(", {}", condition.reason),
                     condition.message.empty() ? "" : fmt::format(": {}", condition.message));
}

std::string Offers(const Node& node) {
  std::vector<std::string> offers;
  for (const auto& [resource, amount] : node.allocatable) {
    if (IsExtended(resource) && amount.milli > 0) {
      offers.push_back(fmt::format("{} {}", resource, AmountText(resource, amount)));
    }
  }
  return Join(offers, ", ");
}

const Event* LastEvent(const Case& c, std::initializer_list<std::string_view> reasons) {
  const Pod& pod = c.pod;
  for (auto event = c.facts.events.rbegin(); event != c.facts.events.rend(); ++event) {
    const bool is_of_pod = event->kind == "Pod" && event->space == pod.space &&
                           event->name == pod.name &&
                           (event->uid.empty() || pod.uid.empty() || event->uid == pod.uid);
    if (is_of_pod && std::ranges::find(reasons, event->reason) != reasons.end()) {
      return &*event;
    }
  }
  return nullptr;
}

}  // namespace kgpu::explain
