#include "src/agent/lend_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

namespace kgpu::agent {
namespace {

// From our answer to the kubelet's Allocate until the kubelet lists the device: what it was given
// just before the device became local must be in the list that we look at.
constexpr std::chrono::seconds kInFlight{1};

std::string InjectionObstacle(const device::GpuUuid& gpu, const Injection* injection) {
  if (injection == nullptr) {
    return "its CDI device is not written yet";
  }
  for (const Status& status : {injection->plan_status, injection->cdi}) {
    if (!status.ok()) {
      return fmt::format("containers cannot get it: {}", Message(status));
    }
  }
  const bool has_device =
      injection->plan && std::ranges::any_of(injection->plan->devices, [&gpu](const auto& device) {
        return std::ranges::find(device.names, gpu.str()) != device.names.end();
      });
  return has_device ? ""
                    : "it has no CDI device: kgpu cdi generate --dry-run names the missing node";
}

}  // namespace

bool LendRules::SetLocal(const pools::Assignment& assignment, SteadyTime now) {
  std::map<device::GpuUuid, SteadyTime> since;
  bool has_new = false;
  for (const pools::Resource& resource : assignment.local) {
    for (const pools::Slot& slot : resource.slots) {
      const auto before = since_.find(slot.gpu);
      has_new = has_new || before == since_.end();
      since.emplace(slot.gpu, before == since_.end() ? now : before->second);
    }
  }
  since_ = std::move(since);
  return has_new;
}

std::string PodObstacleTo(std::string_view device_uuid, SteadyTime since, const LendFacts& facts) {
  const std::vector<pods::Container> users = pods::UsersOf(facts.pods, device_uuid);
  if (!users.empty()) {
    return fmt::format("pod {}/{} holds it", users.front().pod_namespace, users.front().pod);
  }
  if (const auto busy = facts.pods.in_use.find(std::string(device_uuid));
      busy != facts.pods.in_use.end()) {
    return fmt::format("a process of pod {}/{} runs on it", busy->second.pod_namespace,
                       busy->second.pod);
  }
  if (facts.list.has_no_kubelet) {
    return "";
  }
  if (!facts.list.asked || *facts.list.asked < since + kInFlight) {
    return facts.pods.problem.empty()
               ? "it is not known yet which pods hold it"
               : fmt::format(
                     "it is not known yet which pods hold it: {}; if this host no longer runs a "
                     "kubelet, remove the folder of that socket",
                     facts.pods.problem);
  }
  return "";
}

std::string LendRules::PodObstacle(const device::GpuUuid& gpu, const LendFacts& facts) const {
  if (!facts.plugin_owner.empty()) {
    return fmt::format("{} serves all GPUs of this node: kgpu node adopt --from plugin",
                       facts.plugin_owner);
  }
  const auto since = since_.find(gpu);
  return PodObstacleTo(
      gpu.str(), since == since_.end() ? SteadyTime::max() - kInFlight : since->second, facts);
}

std::string LendRules::ObstacleTo(const device::GpuUuid& gpu, const LendFacts& facts) const {
  std::string obstacle = PodObstacle(gpu, facts);
  return obstacle.empty() ? InjectionObstacle(gpu, facts.injection) : obstacle;
}

}  // namespace kgpu::agent
