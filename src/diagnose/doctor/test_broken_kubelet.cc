#include <fmt/format.h>

#include "src/diagnose/doctor/test_healthy_host.h"

namespace kgpu::doctor {
namespace {

constexpr std::string_view kConfig = "var/lib/kubelet/config.yaml";
constexpr std::string_view kRegistration = "var/lib/kubelet/device-plugins/kubelet.sock";
constexpr std::string_view kPodResources = "var/lib/kubelet/pod-resources/kubelet.sock";
constexpr std::string_view kTheirs = "var/lib/kubelet/device-plugins/nvidia-gpu.sock";
constexpr std::string_view kOurs = "var/lib/kubelet/device-plugins/kgpu-nvidia.com_gpu.sock";

void SetGate(const HealthyHost& host, std::string_view gate) {
  host.Write(kConfig, fmt::format("cgroupDriver: systemd\nfeatureGates:\n  {}\n", gate));
}

std::vector<Broken> BrokenProcesses() {
  return {
      {"kubelet-stopped", [](const HealthyHost& host) { host.Remove("proc/720"); }},
      {"kubelet-config-broken", [](const HealthyHost& host) { host.Write(kConfig, "a: [\n"); }},
      {"kubelet-gate-gone", [](const HealthyHost& host) { SetGate(host, "DevicePlugins: true"); }},
      {"kubelet-gate-gone",
       [](const HealthyHost& host) {
         host.Write(kKubeletVersion, "Kubernetes v1.33.0\n");
         SetGate(host, "CPUManager: true");
       }},
      {"kubelet-gate-locked",
       [](const HealthyHost& host) {
         host.Write(kKubeletVersion, "Kubernetes v1.31.0\n");
         SetGate(host, "DevicePluginCDIDevices: false");
       }},
      {"kubelet-flag-gone",
       [](const HealthyHost& host) {
         host.Write(kKubeletVersion, "Kubernetes v1.35.0\n");
         host.Write(
             "var/lib/kubelet/kubeadm-flags.env",
             "KUBELET_KUBEADM_ARGS=\"--pod-infra-container-image=registry.k8s.io/pause:3.10\"\n");
       }},
      {"kubelet-flag-gone",
       [](const HealthyHost& host) {
         host.Write("etc/default/kubelet",
                    "KUBELET_EXTRA_ARGS=\"--container-runtime=remote --v=2\"\n");
       }},
      {"kubelet-gate-settled",
       [](const HealthyHost& host) { SetGate(host, "DevicePluginCDIDevices: true"); }},
      {"kubelet-gate-off",
       [](const HealthyHost& host) {
         host.Write(kKubeletVersion, "Kubernetes v1.29.4\n");
         SetGate(host, "DevicePluginCDIDevices: false");
       }},
      {"kubelet-without-cdi",
       [](const HealthyHost& host) { host.Write(kKubeletVersion, "Kubernetes v1.27.3\n"); }},
      {"kubelet-without-cdi",
       [](const HealthyHost& host) {
         host.Write(kKubeletVersion, "Kubernetes v1.28.3\n");
         SetGate(host, "DevicePluginCDIDevices: false");
       }},
      {"kubelet-root-moved",
       [](const HealthyHost& host) {
         host.AddProcess(720, "kubelet", {"/usr/bin/kubelet", "--root-dir=/data/kubelet"});
         host.Write("data/kubelet/config.yaml", "cgroupDriver: systemd\n");
         host.Write("data/kubelet/plugins_registry/x", "");
         host.Listen("data/kubelet/pod-resources/kubelet.sock");
       }},
      {"kubelet-restart-pending",
       [](const HealthyHost& host) {
         host.Write("proc/720/stat",
                    "720 (x) S 1 1 1 0 -1 4194560 1 1 1 1 1 1 1 1 20 0 9 0 100 1 1\n");
       }},
  };
}

std::vector<Broken> BrokenSockets() {
  return {
      {"kubelet-socket-missing", [](const HealthyHost& host) { host.Remove(kRegistration); }},
      {"kubelet-socket-silent",
       [](const HealthyHost& host) {
         host.Remove(kRegistration);
         host.tree().AddSocket(std::string(kRegistration));
       }},
      {"kubelet-pod-resources-missing",
       [](const HealthyHost& host) { host.Remove(kPodResources); }},
      {"kubelet-registry-missing",
       [](const HealthyHost& host) { host.Remove("var/lib/kubelet/plugins_registry"); }},
      {"plugin-socket-left",
       [](const HealthyHost& host) { host.tree().AddSocket(std::string(kTheirs)); }},
      {"plugin-twice", [](const HealthyHost& host) { host.Listen(kTheirs); }},
      {"plugin-missing",
       [](const HealthyHost& host) {
         host.Remove("proc/730");
         host.Remove(kAgentStatus);
         host.Remove(kOurs);
         host.SetRegistered({});
         host.SetNode({.capacity = 0, .allocatable = 0});
       }},
  };
}

std::vector<Broken> BrokenPlugins() {
  return {
      {"agent-not-ready",
       [](const HealthyHost& host) {
         host.SetAgent({.is_ready = false, .obstacle = "the configuration was refused"});
       }},
      {"plugin-not-registered",
       [](const HealthyHost& host) {
         host.SetAgent({.is_ready = false, .obstacle = "not registered", .state = "Waiting"});
       }},
      {"kubelet-knows-no-gpu", [](const HealthyHost& host) { host.SetRegistered({}); }},
      {"capacity-short",
       [](const HealthyHost& host) {
         host.SetRegistered({"GPU-1"});
         host.SetAgent({.devices = 1});
         host.SetNode({.capacity = 1, .allocatable = 1});
       }},
      {"gpu-unhealthy",
       [](const HealthyHost& host) {
         host.SetRegistered({"GPU-1"});
         host.SetAgent({.unhealthy = 1});
         host.SetNode({.allocatable = 1});
       }},
  };
}

}  // namespace

std::vector<Broken> BrokenKubelets() {
  std::vector<Broken> all = BrokenProcesses();
  for (const std::vector<Broken>& group : {BrokenSockets(), BrokenPlugins()}) {
    all.insert(all.end(), group.begin(), group.end());
  }
  return all;
}

}  // namespace kgpu::doctor
