#include "src/node/loans/lend_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace kgpu::loans {
namespace {

std::string InjectionObstacle(const device::GpuUuid& gpu, const injection::Injection* injection) {
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

std::string LendRules::PodObstacle(const device::GpuUuid& gpu, const LendFacts& facts) const {
  if (!facts.plugin_owner.empty()) {
    return fmt::format("{} serves all GPUs of this node: kgpu node adopt --from plugin",
                       facts.plugin_owner);
  }
  const auto since = since_.find(gpu);
  return pods::PodObstacleTo(
      gpu.str(), since == since_.end() ? SteadyTime::max() - pods::kInFlight : since->second,
      {.pods = facts.pods, .list = facts.list});
}

std::string LendRules::ObstacleTo(const device::GpuUuid& gpu, const LendFacts& facts) const {
  std::string obstacle = PodObstacle(gpu, facts);
  return obstacle.empty() ? InjectionObstacle(gpu, facts.injection) : obstacle;
}

}  // namespace kgpu::loans
