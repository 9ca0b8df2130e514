// Nodes and pods for tests, and objects as the API server has them.
#pragma once

#include <boost/json.hpp>

#include <string>

#include "src/cluster/fleet/node_facts.h"

namespace kgpu::fleet {

inline NodeFacts HealthyNode(const std::string& name, const std::string& driver = "535.104.05") {
  NodeFacts node;
  node.name = name;
  node.uid = "uid-" + name;
  node.version = "1";
  node.is_ready = true;
  node.has_gpus = true;
  node.driver = driver;
  node.gpu_ready.status = "True";
  node.gpu_healthy.status = "True";
  node.resource = "nvidia.com/gpu";
  node.gpus = 8;
  return node;
}

inline PodFacts GpuPod(const std::string& name, PodOwner owner = PodOwner::kOther,
                       uint64_t gpus = 1, const std::string& resource = "nvidia.com/gpu") {
  PodFacts pod;
  pod.space = "team";
  pod.name = name;
  pod.uid = "uid-" + name;
  pod.phase = "Running";
  pod.owner = owner;
  pod.gpus[resource] = gpus;
  return pod;
}

inline PodFacts OwnPod(const std::string& name, std::string_view role, const std::string& phase,
                       int exit_code = 0) {
  PodFacts pod;
  pod.space = "kgpu";
  pod.name = name;
  pod.uid = "uid-" + name;
  pod.phase = phase;
  pod.role = role;
  pod.exit_code = exit_code;
  return pod;
}

// As the kubelet leaves one whose GPUs its device plugin refused.
inline PodFacts RejectedPod(const std::string& name, uint64_t gpus) {
  PodFacts pod = OwnPod(name, "validate", "Failed");
  pod.gpus["nvidia.com/gpu"] = gpus;
  pod.rejection = "UnexpectedAdmissionError";
  pod.rejection_message = "Allocate failed";
  return pod;
}

}  // namespace kgpu::fleet
