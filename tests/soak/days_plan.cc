#include "tests/soak/days_plan.h"

#include <fmt/format.h>

namespace kgpu::soak {
namespace {

constexpr size_t kMostDayPods = 6;
constexpr size_t kMostDayLoans = 3;

}  // namespace

const std::vector<Layout>& DayConfigs() {
  static const std::vector<Layout> kConfigs = {
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
       .text = "- {devices: {index: 0-1}, provider: local}\n- devices: all\n",
       .resource = "nvidia.com/gpu"},
      {.name = "local-slices",
       .text = "- {devices: {index: 0}, provider: local, share: {by: memory, size: 20Gi}}\n"
               "- devices: all\n",
       .resource = "nvidia.com/gpu"},
  };
  return kConfigs;
}

std::string DayPlan::NewName(const char* kind) {
  return fmt::format("{}-{}", kind, ++names_);
}

std::string DayPlan::Take(std::deque<std::string>& live) {
  const size_t which = dice_.Below(static_cast<uint32_t>(live.size()));
  std::string name = live[which];
  live.erase(live.begin() + static_cast<std::ptrdiff_t>(which));
  return name;
}

Action DayPlan::Workload() {
  const uint32_t what = dice_.Below(10);
  if (what < 2) {
    if (loans_.size() >= kMostDayLoans || (!loans_.empty() && dice_.OneIn(2))) {
      return {.verb = "return", .arguments = {Take(loans_)}};
    }
    loans_.push_back(NewName("loan"));
    return {.verb = "lend", .arguments = {loans_.back()}};
  }
  if (pods_.size() >= kMostDayPods || (!pods_.empty() && what < 6)) {
    return {.verb = "end", .arguments = {Take(pods_)}};
  }
  pods_.push_back(NewName("pod"));
  if (what == 6) {
    const std::vector<std::string> profiles = {"3g.40gb", "1g.10gb", "7g.80gb"};
    return {.verb = "pod",
            .arguments = {pods_.back(), "nvidia.com/mig-" + dice_.Of(profiles), "1"}};
  }
  return {.verb = "pod",
          .arguments = {pods_.back(), std::string(layout().resource),
                        fmt::format("{}", 1 + dice_.Below(layout().most))}};
}

Action DayPlan::Fault() {
  const std::string gpu = fmt::format("{}", dice_.Below(4));
  switch (dice_.Below(13)) {
    case 0:
    case 1:
      return {
          .verb = "xid",
          .arguments = {gpu, dice_.Of(std::vector<std::string>{"48", "79", "95", "119", "31"})}};
    case 2:
      return {.verb = "remove", .arguments = {gpu}};
    case 3:
      return {.verb = "lose", .arguments = {gpu}};
    case 4:
      return {.verb = "rows", .arguments = {gpu}};
    case 5:
      return {.verb = "driver-down"};
    case 6:
      return {.verb = "kubelet-down"};
    case 7:
      return {.verb = "reboot-kubelet"};
    case 8:
      return {.verb = "disk-full"};
    case 9: {
      const std::vector<std::string> minutes = {"2",    "-2",    "60",       "-60",
                                                "4200", "-4200", "14400000", "-14400000"};
      return {.verb = "jump", .arguments = {dice_.Of(minutes)}};
    }
    case 10:
      return {.verb = "flap", .arguments = {gpu}};
    default:
      return {.verb = "kill"};
  }
}

Action DayPlan::Next() {
  const uint32_t what = dice_.Below(100);
  if (what < 40) {
    return {.verb = ""};
  }
  if (what < 75) {
    return Workload();
  }
  if (what < 79) {
    layout_ = dice_.Below(static_cast<uint32_t>(DayConfigs().size()));
    return {.verb = "config", .arguments = {std::string(layout().name)}};
  }
  if (what < 82) {
    return {.verb = "divide", .arguments = {fmt::format("{}", dice_.Below(3))}};
  }
  return what < 90 ? Action{.verb = "repair"} : Fault();
}

}  // namespace kgpu::soak
