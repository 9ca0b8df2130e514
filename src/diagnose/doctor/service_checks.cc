// NVIDIA's services beside the driver: persistence, the fabric manager, RDMA.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "src/diagnose/doctor/check.h"
#include "src/diagnose/doctor/commands.h"
#include "src/diagnose/doctor/facts.h"

namespace kgpu::doctor {
namespace {

constexpr std::string_view kAskMode =
    "nvidia-smi --query-gpu=persistence_mode --format=csv   # Enabled: nothing to fix";

bool RefusesMode(const host::Daemon& daemon) {
  return std::ranges::find(daemon.argv, "--no-persistence-mode") != daemon.argv.end();
}

void NoPersistence(const Facts& facts, Findings& findings) {
  if (facts.driver.is_nvidia_live && facts.services.persistence.empty() && facts.shows_processes) {
    findings.Add("nvidia-persistenced is not running",
                 {std::string(kAskMode), "systemctl enable --now nvidia-persistenced"});
  }
}

void PersistenceRefused(const Facts& facts, Findings& findings) {
  for (const host::Daemon& daemon : facts.services.persistence) {
    if (RefusesMode(daemon)) {
      findings.Add(
          fmt::format("nvidia-persistenced (pid {}) runs with --no-persistence-mode", daemon.pid),
          {std::string(kAskMode), "systemctl edit --full nvidia-persistenced   # without that flag",
           "systemctl restart nvidia-persistenced", "nvidia-smi -pm 1   # until the next boot"});
    }
  }
}

void NoFabricManager(const Facts& facts, Findings& findings) {
  if (!facts.pci.nvswitches.empty() && facts.services.fabric.empty() &&
      !facts.install.has_fabric_manager) {
    findings.Add(
        fmt::format("{} NVSwitches but no nv-fabricmanager", facts.pci.nvswitches.size()),
        {InstallCommand(facts, {.debian = "nvidia-fabricmanager   # NVIDIA's repository",
                                .ubuntu = fmt::format("nvidia-fabricmanager-{}", BranchOf(facts)),
                                .rhel = "nvidia-fabricmanager",
                                .suse = "nvidia-fabricmanager"}),
         "systemctl enable --now nvidia-fabricmanager"});
  }
}

void FabricStopped(const Facts& facts, Findings& findings) {
  if (!facts.pci.nvswitches.empty() && facts.services.fabric.empty() &&
      facts.install.has_fabric_manager && facts.shows_processes) {
    findings.Add(fmt::format("{} NVSwitches, but nv-fabricmanager is not running",
                             facts.pci.nvswitches.size()),
                 {"systemctl enable --now nvidia-fabricmanager",
                  "journalctl -u nvidia-fabricmanager -n 50"});
  }
}

std::string FabricOf(const Facts& facts) {
  const std::string& version = facts.driver.module_version;
  const std::string apt = fmt::format("'nvidia-fabricmanager={}-*'", version);
  return InstallCommand(
      facts, {.debian = apt,
              .ubuntu = fmt::format("'nvidia-fabricmanager-{}={}-*'", BranchOf(facts), version),
              .rhel = fmt::format("nvidia-fabricmanager-{}", version),
              .suse = fmt::format("nvidia-fabricmanager={}", version)});
}

void FabricVersion(const Facts& facts, Findings& findings) {
  const std::string& version = facts.install.fabric_version;
  if (!facts.pci.nvswitches.empty() && !version.empty() && !facts.driver.module_version.empty() &&
      version != facts.driver.module_version) {
    findings.Add(fmt::format("the fabric manager's package is {}, the driver {}", version,
                             facts.driver.module_version),
                 {FabricOf(facts), "systemctl restart nvidia-fabricmanager"});
  }
}

void NoPeermem(const Facts& facts, Findings& findings) {
  if (facts.has_gpus() && facts.driver.is_nvidia_live && facts.services.has_rdma &&
      !facts.kernel.loaded.contains("nvidia_peermem")) {
    findings.Add(
        "/sys/class/infiniband has cards, but nvidia_peermem is not loaded",
        {"modprobe nvidia-peermem", "echo nvidia-peermem > /etc/modules-load.d/kgpu-peermem.conf"});
  }
}

constexpr std::array kServiceChecks = {
    Check{"persistence-off", "No daemon keeps the GPUs initialized", Severity::kInfo,
          "Without persistence the driver stops a GPU when its last program ends: the next one "
          "waits seconds for it, and settings such as MIG mode or clocks may be lost. The mode can "
          "be on without the daemon (nvidia-smi -pm 1), which only the driver knows; on a laptop "
          "it is better off.",
          NoPersistence},
    Check{"persistence-refused", "nvidia-persistenced runs without persistence mode",
          Severity::kInfo,
          "Some distributions start it with --no-persistence-mode: it then keeps only the device "
          "nodes open and leaves the mode off until somebody enables it, which only the driver "
          "knows.",
          PersistenceRefused},
    Check{"fabric-manager-missing", "NVSwitches without a fabric manager", Severity::kError,
          "It configures the switches. Without it CUDA does not start on such machines: cuInit "
          "returns \"system not yet initialized\" (802).",
          NoFabricManager},
    Check{"fabric-manager-stopped", "The fabric manager is not running", Severity::kError,
          "It is installed but has exited or was never started: cuInit returns \"system not yet "
          "initialized\" (802).",
          FabricStopped},
    Check{"fabric-manager-version", "Fabric manager and driver have different versions",
          Severity::kError,
          "It requires a driver of exactly its own version: an update must include both.",
          FabricVersion},
    Check{"rdma-peermem-missing", "RDMA cards cannot access GPU memory", Severity::kInfo,
          "nvidia_peermem lets them read and write it directly. Newer drivers with the open module "
          "can do this with dma-buf instead.",
          NoPeermem},
};

}  // namespace

std::span<const Check> ServiceChecks() {
  return kServiceChecks;
}

}  // namespace kgpu::doctor
