#include "tests/soak/plan.h"

#include <fmt/format.h>

#include <utility>

namespace kgpu::soak {
namespace {

constexpr uint32_t kGpus = 3;
// More would only wait.
constexpr size_t kMostPods = 8;
constexpr size_t kMostLoans = 3;
constexpr uint64_t kNames = 200;

}  // namespace

const std::vector<Layout>& Layouts() {
  static const std::vector<Layout> kLayouts = {
      {.name = "whole", .text = "- devices: all\n", .resource = "nvidia.com/gpu"},
      {.name = "time",
       .text = "- devices: all\n  share: {by: time, replicas: 3}\n",
       .resource = "nvidia.com/gpu",
       .most = 1},
      {.name = "memory",
       .text = "- devices: all\n  share: {by: memory, size: 20Gi}\n",
       .resource = "nvidia.com/gpu-20gi"},
      {.name = "sizes",
       .text = "- devices: all\n  share: {by: memory, layout: [40Gi, 30Gi]}\n",
       .resource = "nvidia.com/gpu-40gi"},
      {.name = "local",
       .text = "- {devices: {index: 0}, provider: local}\n- devices: all\n",
       .resource = "nvidia.com/gpu"},
      {.name = "local-slices",
       .text = "- {devices: {index: 0-1}, provider: local, share: {by: memory, size: 20Gi}}\n",
       .resource = "nvidia.com/gpu"},
      // The same slots of the same resource, shared in two ways.
      {.name = "turns",
       .text = "- {devices: all, resource: nvidia.com/shared, share: {by: time, replicas: 3}}\n",
       .resource = "nvidia.com/shared",
       .most = 1},
      {.name = "mps",
       .text = "- {devices: all, resource: nvidia.com/shared, share: {by: mps, replicas: 3}}\n",
       .resource = "nvidia.com/shared",
       .most = 1},
      {.name = "mps-quarters",
       .text = "- devices: all\n  share: {by: mps, size: 1/4}\n",
       .resource = "nvidia.com/gpu-1of4",
       .most = 1},
      {.name = "claims", .text = "- {devices: all, provider: dra}\n", .resource = ""},
      {.name = "claimed-slices",
       .text = "- {devices: all, provider: dra, share: {by: memory, size: 20Gi}}\n",
       .resource = "",
       .memory = "20Gi"},
  };
  return kLayouts;
}

const std::vector<MigLayout>& MigLayouts() {
  static const std::vector<MigLayout> kLayouts = {
      {.text = "[3g.40gb, 4g.40gb]", .profile = "3g.40gb"},
      {.text = "[1g.10gb, 1g.10gb, 2g.20gb]", .profile = "1g.10gb"},
      {.text = "[7g.80gb]", .profile = "7g.80gb"},
  };
  return kLayouts;
}

Action DriverFault(Dice& dice, uint32_t gpus) {
  const std::string gpu = fmt::format("{}", dice.Below(gpus));
  switch (dice.Below(12)) {
    case 0:
    case 1:
      return {.verb = "xid",
              .arguments = {gpu, dice.Of(std::vector<std::string>{"48", "79", "95", "119"})}};
    case 2:
      return {.verb = "lose", .arguments = {gpu}};
    case 3:
      return {.verb = "hang", .arguments = {gpu}};
    case 4:
      return {.verb = "hang"};
    case 5:
      return {.verb = "slow", .arguments = {fmt::format("{}", 1 + dice.Below(40))}};
    case 6:
      return {.verb = "unload"};
    case 7:
      return {.verb = "set", .arguments = {gpu, "remap-failed", "1"}};
    case 8:
      return {.verb = "ecc", .arguments = {gpu, "--double", "1"}};
    case 9:
      return {.verb = "set", .arguments = {gpu, "recovery-action", "1"}};
    case 10:
      return {.verb = "xid", .arguments = {gpu, "31", "--times", "300"}};
    default:
      return {.verb = "temp", .arguments = {gpu, "93"}};
  }
}

Action Plan::Start(std::string kind, std::deque<std::string>& live) {
  // Few names: the usage ledger remembers each for weeks.
  std::string name = fmt::format("{}-{}", kind, ++names_ % kNames);
  live.push_back(name);
  return {.verb = std::move(kind), .arguments = {std::move(name)}};
}

Action Plan::End(std::string verb, std::deque<std::string>& live) {
  const size_t which = dice_.Below(static_cast<uint32_t>(live.size()));
  std::string name = live[which];
  live.erase(live.begin() + static_cast<std::ptrdiff_t>(which));
  return {.verb = std::move(verb), .arguments = {std::move(name)}};
}

Action Plan::Workload() {
  const uint32_t what = dice_.Below(10);
  if (what < 2) {
    return loans_.size() < kMostLoans && dice_.OneIn(2)
               ? Start("lend", loans_)
               : (loans_.empty() ? Start("lend", loans_) : End("return", loans_));
  }
  if (pods_.size() >= kMostPods || (!pods_.empty() && what < 6)) {
    return dice_.OneIn(4) ? End("force", pods_) : End("end", pods_);
  }
  if (what == 6) {
    Action pod = Start("mig", pods_);
    pod.arguments.emplace_back(mig().profile);
    return pod;
  }
  if (layout().resource.empty()) {
    Action claim = Start("claim", pods_);
    const std::string_view whole = dice_.OneIn(2) ? "mps" : "whole";
    claim.arguments.emplace_back(layout().memory.empty() ? whole : layout().memory);
    return claim;
  }
  Action pod = Start("pod", pods_);
  pod.arguments.emplace_back(layout().resource);
  pod.arguments.push_back(fmt::format("{}", 1 + dice_.Below(layout().most)));
  return pod;
}

Action Plan::Edit() {
  if (dice_.OneIn(4)) {
    return {.verb = "break-config"};
  }
  if (dice_.OneIn(3)) {
    mig_ = dice_.Below(static_cast<uint32_t>(MigLayouts().size()));
  } else {
    layout_ = dice_.Below(static_cast<uint32_t>(Layouts().size()));
  }
  return {.verb = "config", .arguments = {std::string(layout().name), std::string(mig().text)}};
}

Action Plan::ClusterFault() {
  switch (dice_.Below(11)) {
    case 0:
      return {.verb = "api", .arguments = {"away"}};
    case 1:
      return {.verb = "api", .arguments = {"answer", "500"}};
    case 2:
      return {.verb = "api", .arguments = {"answer", "429"}};
    case 3:
      return {.verb = "api", .arguments = {"delay"}};
    case 4:
      return {.verb = "api", .arguments = {"reset"}};
    case 5:
      return {.verb = "cut-watches"};
    case 6:
    case 7:
      return {.verb = "restart-kubelet"};
    case 8:
      return {.verb = "stop-kubelet"};
    case 9:
      return {.verb = "remove-sockets"};
    default:
      return {.verb = "cut-plugin"};
  }
}

Action Plan::AgentFault() {
  const bool may_end = rounds_ % kEra < kKillsOfEra;
  switch (dice_.Below(may_end ? 8 : 5)) {
    case 0:
      return {.verb = "fill-disk"};
    case 1:
      return {.verb = "kill-probe"};
    case 2:
      return {.verb = "reload"};
    case 3:
      return {.verb = "foreign-cdi"};
    case 4:
      return {.verb = "kill-mps"};
    case 5:
      return {.verb = "stop-agent"};
    default:
      return {.verb = "kill-agent"};
  }
}

Action Plan::Fault() {
  switch (dice_.Below(5)) {
    case 0:
    case 1:
      return DriverFault(dice_, kGpus);
    case 2:
    case 3:
      return ClusterFault();
    default:
      return AgentFault();
  }
}

Round Plan::Next() {
  Round round;
  const bool is_calm = dice_.OneIn(5);
  for (uint32_t i = 1 + dice_.Below(5); i > 0; --i) {
    const uint32_t what = is_calm ? 0 : dice_.Below(10);
    if (what < 4) {
      round.actions.push_back(Workload());
      // A pod that is deleted by force leaves its devices to the next one too soon: as in
      // Kubernetes.
      round.has_faults = round.has_faults || round.actions.back().verb == "force";
    } else {
      round.actions.push_back(what < 6 ? Edit() : Fault());
      round.has_faults = true;
    }
  }
  ++rounds_;
  return round;
}

}  // namespace kgpu::soak
