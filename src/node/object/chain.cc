#include "src/node/object/chain.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "src/platform/base/strings.h"

namespace kgpu::node {
namespace {

constexpr std::string_view kDriverLink = "driver";

Link Ok(std::string_view name, std::string message) {
  return {.name = std::string(name), .state = LinkState::kOk, .message = std::move(message)};
}

Link Waiting(std::string_view name, std::string_view reason, std::string message) {
  return {std::string(name), LinkState::kWaiting, std::string(reason), std::move(message)};
}

Link Bad(std::string_view name, std::string_view reason, std::string message) {
  return {std::string(name), LinkState::kBad, std::string(reason), std::move(message)};
}

std::string Or(const std::string& text, std::string_view otherwise) {
  return text.empty() ? std::string(otherwise) : text;
}

Link DriverLink(const ChainFacts& facts) {
  using enum device::DriverState;
  if (facts.driver == kReady) {
    return Ok(kDriverLink, fmt::format("driver {} answers", Or(facts.driver_version, "?")));
  }
  const std::string reason = fmt::format("Driver{}", device::ToString(facts.driver));
  if (facts.driver == kStarting) {
    return Waiting(kDriverLink, reason,
                   Or(facts.driver_problem, "the driver has not answered yet"));
  }
  return Bad(kDriverLink, reason,
             Or(facts.driver_problem, "the driver does not answer: run `kgpu devices` to see why"));
}

Link RuntimeLink(const ChainFacts& facts) {
  if (!facts.plugin_owner.empty()) {
    return Ok("runtime", fmt::format("left to {}", facts.plugin_owner));
  }
  if (!facts.runtime_problem.empty()) {
    return Bad("runtime", "RuntimeNotReady", facts.runtime_problem);
  }
  if (!facts.is_runtime_known) {
    return Waiting("runtime", "RuntimeUnknown",
                   "the container runtime has not been queried yet: see `kgpu runtime status`");
  }
  return Ok("runtime", Or(facts.runtime_way, "containers get GPUs"));
}

Link CdiLink(const ChainFacts& facts) {
  if (!facts.plugin_owner.empty()) {
    return Ok("cdi", fmt::format("left to {}", facts.plugin_owner));
  }
  if (!facts.is_cdi_used) {
    return Ok("cdi", "not needed: devices and mounts are injected directly");
  }
  if (!facts.cdi_problem.empty()) {
    return Bad("cdi", "CdiNotWritten", facts.cdi_problem);
  }
  if (!facts.is_cdi_written) {
    return Waiting("cdi", "CdiNotWritten", "the CDI specs of this driver are not written yet");
  }
  return Ok("cdi", "specs are written");
}

// A plain number, as the kubelet writes counts of devices.
uint64_t CountOf(const Quantities& allocatable, const std::string& name) {
  const auto found = allocatable.find(name);
  return found == allocatable.end() ? 0 : ParseUint(found->second).value_or(0);
}

bool HasForeignGpus(const ChainFacts& facts) {
  return facts.allocatable && std::ranges::any_of(*facts.allocatable, [](const auto& entry) {
           return entry.first.starts_with("nvidia.com/") && entry.second != "0";
         });
}

bool HasDevices(const ResourceFact& resource) {
  return resource.devices > 0;
}

Link PluginLink(const ChainFacts& facts) {
  if (!facts.plugin_owner.empty()) {
    return Ok("plugin", fmt::format("left to {}; to take over: `kgpu node adopt --from plugin`",
                                    facts.plugin_owner));
  }
  if (!facts.has_resources) {
    return Waiting("plugin", "PluginNotRegistered",
                   "the resources are unknown until the driver answers");
  }
  const auto served = std::ranges::count_if(facts.resources, HasDevices);
  if (served == 0 && facts.changing > 0) {
    return Ok("plugin", fmt::format("{} {} once nobody uses {}: see `kgpu status`", facts.changing,
                                    facts.changing == 1 ? "device changes" : "devices change",
                                    facts.changing == 1 ? "it" : "them"));
  }
  if (served == 0) {
    return Bad("plugin", "NothingAdvertised",
               facts.local_gpus > 0
                   ? "pools with provider: local have every GPU: see `kgpu config assign`"
                   : "no pool of the configuration matches a GPU: see `kgpu config assign`");
  }
  for (const ResourceFact& resource : facts.resources) {
    if (HasDevices(resource) && !resource.is_registered) {
      return Waiting("plugin", "PluginNotRegistered",
                     fmt::format("{} is not registered with the kubelet: {}", resource.name,
                                 Or(resource.problem, "the kubelet has not been contacted yet")));
    }
  }
  return Ok("plugin",
            fmt::format("{} {} registered", served, served == 1 ? "resource" : "resources"));
}

Link ForeignKubeletLink(const ChainFacts& facts) {
  if (!facts.allocatable || HasForeignGpus(facts)) {
    return Ok("kubelet", facts.allocatable ? "GPUs allocatable" : "not queried");
  }
  return Waiting(
      "kubelet", "KubeletCountDiffers",
      fmt::format("the node has no allocatable GPU: see the logs of {}", facts.plugin_owner));
}

Link KubeletLink(const ChainFacts& facts) {
  if (!facts.plugin_owner.empty()) {
    return ForeignKubeletLink(facts);
  }
  uint64_t sum = 0;
  std::string fault;
  for (const ResourceFact& resource : facts.resources) {
    sum += resource.allocatable;
    fault = Or(fault, resource.fault);
    const uint64_t counted = facts.allocatable && !resource.by_claims
                                 ? CountOf(*facts.allocatable, resource.name)
                                 : resource.allocatable;
    if (counted != resource.allocatable) {
      return Waiting("kubelet", "KubeletCountDiffers",
                     fmt::format("the node reports {} allocatable {}, kgpu advertises {}: if this "
                                 "lasts more than seconds, see the kubelet's log",
                                 counted, resource.name, resource.allocatable));
    }
  }
  if (sum == 0 && facts.changing == 0 && facts.has_resources && !facts.resources.empty()) {
    return Bad("kubelet", "NothingAllocatable",
               fmt::format("no advertised device is healthy: {}",
                           Or(fault, "`kgpu status` lists the faults")));
  }
  return Ok("kubelet", facts.allocatable ? "allocatable matches the advertised devices"
                                         : "not checked: the API server has not answered");
}

Link HandleLink(const ChainFacts& facts) {
  if (facts.handles > 0) {
    return Ok("handle", fmt::format("{} of {} GPUs answer through NVML", facts.handles,
                                    facts.gpus.value_or(facts.handles)));
  }
  if (facts.driver == device::DriverState::kReady) {
    return Bad(
        "handle", "HandleFailed",
        Or(facts.handle_problem, "no GPU answers through NVML: run `kgpu devices` to see why"));
  }
  return Waiting("handle", "HandleNotOpened", "no GPU was queried yet: waiting for the driver");
}

}  // namespace

std::string_view ToString(LinkState state) {
  static constexpr std::array<std::string_view, 3> kWords = {"ok", "waiting", "bad"};
  return kWords.at(static_cast<size_t>(state));
}

Chain CheckChain(const ChainFacts& facts) {
  Chain chain;
  if (facts.gpus == size_t{0} && facts.handles == 0) {
    chain.has_gpus = false;
    return chain;
  }
  chain.links = {DriverLink(facts), RuntimeLink(facts), CdiLink(facts),
                 PluginLink(facts), KubeletLink(facts), HandleLink(facts)};
  return chain;
}

const Link* FirstWrong(const Chain& chain) {
  const auto wrong = std::ranges::find_if(
      chain.links, [](const Link& link) { return link.state != LinkState::kOk; });
  return wrong == chain.links.end() ? nullptr : &*wrong;
}

LinkState Worst(const Chain& chain) {
  LinkState worst = LinkState::kOk;
  for (const Link& link : chain.links) {
    worst = std::max(worst, link.state);
  }
  return worst;
}

std::string ProblemOf(const Link& link) {
  return link.name == kDriverLink ? link.message : fmt::format("{}: {}", link.name, link.message);
}

ConditionText ConditionOf(const Chain& chain) {
  if (!chain.has_gpus) {
    return {false, "NoGpu",
            "no NVIDIA GPU is on the PCI bus: install or pass through a GPU, or remove the node "
            "from the pool of GPU nodes"};
  }
  if (const Link* wrong = FirstWrong(chain)) {
    return {false, wrong->reason, ProblemOf(*wrong)};
  }
  return {true, "AllVerified",
          "driver, runtime, CDI, plugin, kubelet and a GPU handle are verified"};
}

}  // namespace kgpu::node
