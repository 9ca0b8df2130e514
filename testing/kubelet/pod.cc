#include "testing/kubelet/pod.h"

#include <algorithm>

namespace kgpu::kubelet {

const char* NameOf(PodPhase phase) {
  switch (phase) {
    case PodPhase::kPending:
      return "Pending";
    case PodPhase::kRunning:
      return "Running";
    case PodPhase::kSucceeded:
      return "Succeeded";
    case PodPhase::kFailed:
      return "Failed";
  }
  return "";
}

const char* NameOf(ContainerState state) {
  switch (state) {
    case ContainerState::kWaiting:
      return "waiting";
    case ContainerState::kRunning:
      return "running";
    case ContainerState::kTerminated:
      return "terminated";
  }
  return "";
}

const char* NameOf(ContainerKind kind) {
  switch (kind) {
    case ContainerKind::kInit:
      return "init";
    case ContainerKind::kSidecar:
      return "sidecar";
    case ContainerKind::kApp:
      return "app";
  }
  return "";
}

const char* NameOf(RestartPolicy policy) {
  switch (policy) {
    case RestartPolicy::kAlways:
      return "Always";
    case RestartPolicy::kOnFailure:
      return "OnFailure";
    case RestartPolicy::kNever:
      return "Never";
  }
  return "";
}

PodSpec SimplePod(const std::string& name, const std::string& resource, int64_t count) {
  PodSpec pod;
  pod.name = name;
  pod.containers.push_back({.name = "main", .limits = {{resource, count}}});
  return pod;
}

std::map<std::string, int64_t> RequestsOf(const PodSpec& pod) {
  std::map<std::string, int64_t> total;    // sidecars so far, then apps too
  std::map<std::string, int64_t> highest;  // while init containers run
  for (const ContainerSpec& container : pod.containers) {
    for (const auto& [resource, count] : container.limits) {
      if (container.kind == ContainerKind::kInit) {
        highest[resource] = std::max(highest[resource], total[resource] + count);
      } else {
        total[resource] += count;
      }
    }
  }
  for (const auto& [resource, count] : highest) {
    total[resource] = std::max(total[resource], count);
  }
  return total;
}

}  // namespace kgpu::kubelet
