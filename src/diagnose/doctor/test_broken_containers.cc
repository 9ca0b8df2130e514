#include <fmt/format.h>

#include "src/diagnose/doctor/test_healthy_host.h"

namespace kgpu::doctor {
namespace {

constexpr std::string_view kSpec = "var/run/cdi/kgpu.dev-gpu.json";
constexpr std::string_view kContainerd = "etc/containerd/config.toml";
constexpr std::string_view kKubelet = "var/lib/kubelet/config.yaml";

std::vector<Broken> BrokenEngines() {
  return {
      {"engine-missing",
       [](const HealthyHost& host) {
         host.Remove("proc/710");
         host.Remove("usr/bin/containerd");
       }},
      {"engine-stopped", [](const HealthyHost& host) { host.Remove("proc/710"); }},
      {"engine-config-broken",
       [](const HealthyHost& host) {
         host.Write(kContainerd, host.dir().ReadFile(kContainerd) + "\n[plugins\n");
       }},
      {"engine-gives-no-gpu",
       [](const HealthyHost& host) {
         host.tree().AddProgram("usr/bin/dockerd");
         host.AddProcess(711, "dockerd", {"/usr/bin/dockerd"});
       }},
      {"limit-memlock",
       [](const HealthyHost& host) {
         host.Write("sys/class/infiniband/mlx5_0/node_type", "1\n");
         host.Load({"nvidia", "nvidia_uvm", "nvidia_peermem"});
         host.Write("proc/710/limits", "Max locked memory         65536     65536     bytes\n");
       }},
  };
}

std::vector<Broken> BrokenSpecs() {
  return {
      {"cdi-missing", [](const HealthyHost& host) { host.Remove(kSpec); }},
      {"cdi-broken", [](const HealthyHost& host) { host.Write("etc/cdi/old.json", "{"); }},
      {"cdi-stale",
       [](const HealthyHost& host) {
         host.Write(kSpec, R"({"cdiVersion": "0.5.0", "kind": "kgpu.dev/gpu", "devices": [
             {"name": "0", "containerEdits": {"mounts": [
             {"hostPath": "/usr/lib/libcuda.so.470.1", "containerPath": "/usr/lib/libcuda.so.1"}
             ]}}]})");
       }},
      {"cdi-declared-twice",
       [](const HealthyHost& host) {
         host.Write("var/run/cdi/copy.json", host.dir().ReadFile(kSpec));
       }},
  };
}

std::vector<Broken> BrokenCgroups() {
  return {
      {"cgroup-driver-differs",
       [](const HealthyHost& host) {
         host.Write(kKubeletVersion, "Kubernetes v1.30.4\n");
         host.Write(kContainerd,
                    "version = 3\n# by hand\n[plugins.'io.containerd.cri.v1.runtime'.containerd."
                    "runtimes.runc.options]\n  SystemdCgroup=false  # as shipped\n");
       }},
      {"cgroup-driver-cgroupfs",
       [](const HealthyHost& host) { host.Write(kKubelet, "cgroupDriver: \"cgroupfs\"\n"); }},
      {"cgroup-v1",
       [](const HealthyHost& host) { host.Remove("sys/fs/cgroup/cgroup.controllers"); }},
      {"cgroup-v1-refused",
       [](const HealthyHost& host) {
         host.Remove("sys/fs/cgroup/cgroup.controllers");
         host.Write(kKubeletVersion, "Kubernetes v1.35.1\n");
       }},
      {"cgroup-v1",
       [](const HealthyHost& host) {
         host.Remove("sys/fs/cgroup/cgroup.controllers");
         host.Write(kKubeletVersion, "Kubernetes v1.35.1\n");
         host.Write("var/lib/kubelet/config.yaml", "cgroupDriver: systemd\nfailCgroupV1: false\n");
       }},
      {"cgroup-device-trap",
       [](const HealthyHost& host) {
         host.Write(kRuncVersion, "runc version 1.1.5\nspec: 1.0.2\n");
         host.Remove("dev/char/195:1");
       }},
  };
}

}  // namespace

std::vector<Broken> BrokenContainers() {
  std::vector<Broken> all = BrokenEngines();
  for (const std::vector<Broken>& group : {BrokenSpecs(), BrokenCgroups()}) {
    all.insert(all.end(), group.begin(), group.end());
  }
  return all;
}

}  // namespace kgpu::doctor
