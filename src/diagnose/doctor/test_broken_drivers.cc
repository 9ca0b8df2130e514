#include <sys/stat.h>

#include <fmt/format.h>

#include "src/diagnose/doctor/test_healthy_host.h"

namespace kgpu::doctor {
namespace {

constexpr std::string_view kLibraries = "usr/lib/x86_64-linux-gnu";

void AddPackage(const HealthyHost& host, std::string_view name, std::string_view version) {
  host.Write("var/lib/dpkg/status",
             fmt::format("{}Package: {}\nStatus: install ok installed\nVersion: {}\n\n",
                         host.dir().ReadFile("var/lib/dpkg/status"), name, version));
}

void AddSwitch(const HealthyHost& host) {
  const std::string folder = "sys/bus/pci/devices/0000:c5:00.0/";
  host.Write(folder + "vendor", "0x10de\n");
  host.Write(folder + "device", "0x1af1\n");
  host.Write(folder + "class", "0x068000\n");
}

std::vector<Broken> BrokenVersions() {
  return {
      {"driver-version-mismatch",
       [](const HealthyHost& host) {
         host.Write("proc/driver/nvidia/version",
                    "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54.03  Release Build\n");
       }},
      {"driver-libraries-missing",
       [](const HealthyHost& host) {
         host.Remove(kLibraries);
         host.Remove("etc/ld.so.cache");
       }},
      {"driver-libraries-missing",
       [](const HealthyHost& host) {
         host.Remove(fmt::format("{}/nvidia/current/libcuda.so.535.104.05", kLibraries));
       }},
      {"driver-libraries-missing",
       [](const HealthyHost& host) {
         host.Remove(
             fmt::format("{}/nvidia/current/libnvidia-ptxjitcompiler.so.535.104.05", kLibraries));
       }},
      {"driver-files-missing",
       [](const HealthyHost& host) {
         host.tree().AddProgram("usr/bin/apt-get");
         host.Write("var/lib/dpkg/info/libcuda1:amd64.list",
                    "/.\n/usr/lib/libnvidia-nvvm.so.535.104.05\n");
       }},
      {"driver-libraries-several",
       [](const HealthyHost& host) {
         host.tree().AddLibrary("usr/lib64", "libcuda", kElfX8664, "470.57.02");
       }},
      {"driver-packages-differ",
       [](const HealthyHost& host) { AddPackage(host, "libnvidia-ml1", "535.54.03-1"); }},
      {"driver-installed-twice",
       [](const HealthyHost& host) { host.tree().AddProgram("usr/bin/nvidia-uninstall"); }},
      {"driver-reload-pending",
       [](const HealthyHost& host) {
         host.Write(fmt::format("var/lib/dkms/nvidia/550.54.14/{}/x86_64/log", kRelease), "");
       }},
      {"driver-uvm-not-loaded", [](const HealthyHost& host) { host.Load({"nvidia"}); }},
      {"driver-module-half-loaded",
       [](const HealthyHost& host) {
         host.Write("proc/modules",
                    "nvidia 1 0 - Loading 0x0000000000000000\nnvidia_uvm 1 0 - Live 0x0\n");
       }},
      {"driver-firmware-missing",
       [](const HealthyHost& host) {
         host.Write("proc/driver/nvidia/version",
                    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  535.104.05  Release "
                    "Build\n");
         host.Remove("usr/lib/firmware");
       }},
      {"driver-ldcache-stale",
       [](const HealthyHost& host) {
         host.Write("etc/ld.so.cache", MakeLdCache({{"libc.so.6", "/usr/lib/libc.so.6"}}));
         host.tree().AddLibrary("usr/lib64", "libcuda");
       }},
  };
}

std::vector<Broken> BrokenDeviceNodes() {
  return {
      {"dev-control-missing", [](const HealthyHost& host) { host.Remove("dev/nvidiactl"); }},
      {"dev-gpu-missing", [](const HealthyHost& host) { host.Remove("dev/nvidia1"); }},
      {"dev-uvm-missing", [](const HealthyHost& host) { host.Remove("dev/nvidia-uvm"); }},
      {"dev-number-wrong",
       [](const HealthyHost& host) {
         host.Remove("dev/nvidia-uvm");
         (void)host.dir().MakeCharDevice("dev/nvidia-uvm", 508, 0);
         (void)chmod(host.dir().At("dev/nvidia-uvm").c_str(), 0666);
       }},
      {"dev-not-a-device",
       [](const HealthyHost& host) {
         host.Remove("dev/nvidia1");
         host.dir().MakeDir("dev/nvidia1");
       }},
      {"dev-closed",
       [](const HealthyHost& host) { (void)chmod(host.dir().At("dev/nvidia0").c_str(), 0660); }},
      {"dev-mig-missing",
       [](const HealthyHost& host) {
         host.Write("proc/driver/nvidia/capabilities/mig/monitor",
                    "DeviceFileMinor: 2\nDeviceFileMode: 292\nDeviceFileModify: 1\n");
       }},
  };
}

std::vector<Broken> BrokenServices() {
  return {
      {"persistence-off", [](const HealthyHost& host) { host.Remove("proc/700"); }},
      {"persistence-refused",
       [](const HealthyHost& host) {
         host.AddProcess(700, "nvidia-persiste",
                         {"/usr/bin/nvidia-persistenced", "--no-persistence-mode"});
       }},
      {"fabric-manager-missing", AddSwitch},
      {"fabric-manager-stopped",
       [](const HealthyHost& host) {
         AddSwitch(host);
         host.tree().AddProgram("usr/bin/nv-fabricmanager");
       }},
      {"fabric-manager-version",
       [](const HealthyHost& host) {
         AddSwitch(host);
         host.AddProcess(701, "nv-fabricmanage", {"/usr/bin/nv-fabricmanager", "-c", "x"});
         AddPackage(host, "nvidia-fabricmanager-535", "535.54.03-1");
       }},
      {"rdma-peermem-missing",
       [](const HealthyHost& host) { host.Write("sys/class/infiniband/mlx5_0/node_type", "1\n"); }},
  };
}

}  // namespace

std::vector<Broken> BrokenDrivers() {
  std::vector<Broken> all = BrokenVersions();
  for (const std::vector<Broken>& group : {BrokenDeviceNodes(), BrokenServices()}) {
    all.insert(all.end(), group.begin(), group.end());
  }
  return all;
}

}  // namespace kgpu::doctor
