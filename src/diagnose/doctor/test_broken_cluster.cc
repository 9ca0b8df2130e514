#include "src/diagnose/doctor/test_healthy_host.h"

namespace kgpu::doctor {
namespace {

std::vector<Broken> BrokenNodes() {
  return {
      {"labels-missing", [](const HealthyHost& host) { host.SetNode({.labels = ""}); }},
      {"labels-contradict",
       [](const HealthyHost& host) {
         host.SetNode({.labels = R"("nvidia.com/gpu.present": "true",
                                    "nvidia.com/cuda.driver-version.full": "470.1.2")"});
       }},
      {"capacity-differs", [](const HealthyHost& host) { host.SetNode({.capacity = 1}); }},
      {"node-gpu-not-ready",
       [](const HealthyHost& host) {
         host.SetNode({.conditions = R"({"type": "GPUReady", "status": "False",
                                         "reason": "DriverFails", "message": "no answer"})"});
       }},
      {"node-cordoned",
       [](const HealthyHost& host) {
         host.SetNode({.taints = R"({"key": "node.kubernetes.io/unschedulable",
                                     "effect": "NoSchedule"})"});
       }},
      {"taint-gpu",
       [](const HealthyHost& host) {
         host.SetNode({.taints = R"({"key": "nvidia.com/gpu", "effect": "NoSchedule"})"});
       }},
      {"taint-agent",
       [](const HealthyHost& host) {
         host.SetNode({.taints = R"({"key": "team", "value": "a", "effect": "NoExecute"})"});
         host.Write(kAgentSets, R"({"items": [{"metadata": {"namespace": "kgpu", "name": "agent"},
             "spec": {"template": {"spec": {"tolerations": [
             {"key": "team", "value": "b", "effect": "NoExecute"}]}}}}]})");
       }},
  };
}

std::vector<Broken> OtherOwners() {
  return {
      {"owner-nfd",
       [](const HealthyHost& host) { host.AddProcess(900, "nfd-worker", {"nfd-worker"}); }},
      {"owner-gfd",
       [](const HealthyHost& host) {
         host.Write("etc/kubernetes/node-feature-discovery/features.d/gfd", "a=b\n");
       }},
      {"owner-plugin",
       [](const HealthyHost& host) {
         host.Write(kPods, R"({"items": [{"metadata": {"namespace": "kube-system", "name": "p",
             "labels": {"name": "nvidia-device-plugin-ds"}}}]})");
       }},
      {"owner-operator",
       [](const HealthyHost& host) { host.Write("run/nvidia/validations/toolkit-ready", ""); }},
      {"owner-left",
       [](const HealthyHost& host) {
         host.SetNode({.labels = R"("nvidia.com/gpu.present": "true",
                                    "nvidia.com/gfd.timestamp": "1700000000")"});
       }},
  };
}

}  // namespace

std::vector<Broken> BrokenClusters() {
  std::vector<Broken> all = BrokenNodes();
  const std::vector<Broken> others = OtherOwners();
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

}  // namespace kgpu::doctor
