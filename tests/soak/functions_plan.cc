#include "tests/soak/functions_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace kgpu::soak {
namespace {

constexpr uint32_t kFunctionGpus = 8;
constexpr uint32_t kMostCalls = 6;  // at a time

const std::vector<std::string>& Names() {
  static const std::vector<std::string> kNames = {"one", "two", "three"};
  return kNames;
}

}  // namespace

const std::vector<Shape>& Shapes() {
  static const std::vector<Shape> kShapes = {
      {.name = "cpu", .text = "    replicas: {min: 1, max: 2}\n    idle: 1s\n", .least = 1},
      {.name = "gpu",
       .text = "    requests: {gpu: 1}\n    replicas: {min: 0, max: 2}\n    idle: 1s\n",
       .gpus = 1},
      {.name = "kept",
       .text = "    requests: {gpu: 1}\n    replicas: {min: 1, max: 2}\n    idle: 1s\n",
       .gpus = 1,
       .least = 1},
      {.name = "pair",
       .text = "    requests: {gpu: 2}\n    replicas: {min: 0, max: 1}\n    idle: 1s\n",
       .gpus = 2},
      {.name = "slice",
       .text = "    limits:\n      gpu: {count: 1, memory: 4Gi}\n    replicas: {min: 0, max: 2}\n"
               "    idle: 1s\n",
       .gpus = 1,
       .is_slice = true},
      {.name = "kept-slice",
       .text = "    limits:\n      gpu: {count: 1, memory: 4Gi}\n    replicas: {min: 1, max: 2}\n"
               "    idle: 1s\n",
       .gpus = 1,
       .least = 1,
       .is_slice = true},
  };
  return kShapes;
}

const Shape& ShapeOf(std::string_view name) {
  return *std::ranges::find(Shapes(), name, &Shape::name);
}

const std::vector<FunctionLayout>& FunctionLayouts() {
  static const std::vector<FunctionLayout> kLayouts = {
      {.name = "whole", .text = "- {devices: all, provider: local}\n"},
      {.name = "slices",
       .text = "- {devices: {index: 0-1}, provider: local, share: {by: memory, size: 4Gi}}\n"
               "- {devices: all, provider: local}\n"},
  };
  return kLayouts;
}

const FunctionLayout& FunctionLayoutOf(std::string_view name) {
  return *std::ranges::find(FunctionLayouts(), name, &FunctionLayout::name);
}

Action FunctionPlan::Deploy(const std::string& name) {
  return {.verb = "deploy", .arguments = {name, std::string(dice_.Of(Shapes()).name)}};
}

Action FunctionPlan::Workload() {
  const std::string& name = dice_.Of(Names());
  switch (dice_.Below(10)) {
    case 0:
    case 1:
    case 2:
      return Deploy(name);
    case 3:
      return {.verb = "delete", .arguments = {name}};
    case 4:
      return {.verb = "scale", .arguments = {name, fmt::format("{}", dice_.Below(2))}};
    case 5:
      return {.verb = "async", .arguments = {name}};
    case 6:
    case 7:
      return {.verb = "calls", .arguments = {name, fmt::format("{}", 2 + dice_.Below(kMostCalls))}};
    default:
      return {.verb = "call", .arguments = {name}};
  }
}

Action FunctionPlan::DaemonFault() {
  const bool may_end = rounds_ % kEra < kKillsOfEra;
  switch (dice_.Below(may_end ? 6 : 3)) {
    case 0:
      return {.verb = "fill-disk"};
    case 1:
      return {.verb = "break-config"};
    case 2:
      return {.verb = "config", .arguments = {std::string(dice_.Of(FunctionLayouts()).name)}};
    case 3:
      return {.verb = "kill-agent"};
    case 4:
      return {.verb = "down"};
    default:
      return {.verb = "kill-service"};
  }
}

Action FunctionPlan::EngineFault() {
  const std::string which = fmt::format("{}", dice_.Below(kMostCalls));
  switch (dice_.Below(5)) {
    case 0:
      return {.verb = "kill", .arguments = {"podman", which}};
    case 1:
      return {.verb = "kill", .arguments = {"conmon", which}};
    case 2:
      return {.verb = "lose-runtime"};
    case 3:
      return {.verb = "crash", .arguments = {dice_.Of(Names())}};
    default:
      return {.verb = "kill", .arguments = {"kgpu-fnwatch", which}};
  }
}

Action FunctionPlan::Fault() {
  switch (dice_.Below(5)) {
    case 0:
      return DriverFault(dice_, kFunctionGpus);
    case 1:
    case 2:
      return DaemonFault();
    default:
      return EngineFault();
  }
}

Round FunctionPlan::Next() {
  Round round;
  if (rounds_ == 0) {
    std::ranges::transform(Names(), std::back_inserter(round.actions),
                           [this](const std::string& name) { return Deploy(name); });
  }
  const bool is_calm = rounds_ == 0 || dice_.OneIn(4);
  for (uint32_t i = 1 + dice_.Below(4); i > 0; --i) {
    if (is_calm || dice_.OneIn(2)) {
      round.actions.push_back(Workload());
    } else {
      round.actions.push_back(Fault());
      round.has_faults = true;
    }
  }
  ++rounds_;
  return round;
}

}  // namespace kgpu::soak
