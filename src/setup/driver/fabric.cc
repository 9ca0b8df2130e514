// Hosts whose GPUs are joined by switches: what drives those.
#include <algorithm>

#include <fmt/format.h>

#include "src/setup/driver/common_steps.h"
#include "src/setup/driver/pages.h"

namespace kgpu::driver {
namespace {

constexpr std::string_view kModulesFile = "/etc/modules-load.d/kgpu-nvlink.conf";

}  // namespace

bool HasNvLink5(const HostFacts& facts) {
  const auto boards = std::ranges::count_if(
      facts.gpus, [](const GpuId& gpu) { return IsHgxBlackwell(gpu.device_id); });
  return boards >= 2;
}

bool HasFabric(const HostFacts& facts) {
  return facts.nvswitches > 0 || HasNvLink5(facts);
}

bool HasRackLinks(const HostFacts& facts) {
  return std::ranges::any_of(facts.gpus, [](const GpuId& gpu) {
    return gpu.generation == Generation::kBlackwell && IsGrace(gpu.device_id) &&
           !IsGb10(gpu.device_id);
  });
}

std::string FabricProblem(const HostFacts& facts, SourceKind source) {
  if (!HasFabric(facts) || source == SourceKind::kNvidia) {
    return "";
  }
  switch (facts.distribution.family) {
    case host::Family::kUbuntu:
      // Ubuntu lacks the subnet manager, which boards with NVLink 5 also need.
      return HasNvLink5(facts) ? "Ubuntu has no nvlsm, which boards with NVLink 5 need" : "";
    case host::Family::kDebian:
      return "Debian has no fabric manager, which GPUs connected by NVSwitches need for CUDA";
    case host::Family::kSuse:
      return source == SourceKind::kDistribution
                 ? "the fabric manager for NVSwitches is available only in NVIDIA's repository"
                 : "";
    default:
      return "";
  }
}

void AddFabric(const HostFacts& facts, Plan& plan) {
  if (HasNvLink5(facts)) {
    // The switches are reached by InfiniBand's management datagrams.
    AddStep(
        plan, "nvlink-modules-at-boot", "load the module that reaches the switches at every boot",
        pages::kFabricManager,
        WriteFile{.path = std::string(kModulesFile),
                  .text = "# Written by kgpu: the fabric manager needs it to reach the switches.\n"
                          "ib_umad\n"});
    AddStep(plan, "nvlink-modules", "load the module that reaches the switches",
            pages::kFabricManager, LoadModules{{"ib_umad"}});
  }
  AddStep(plan, "fabric-manager", "connect the GPUs through their NVSwitches",
          pages::kFabricManager,
          StartUnits{.units = {"nvidia-fabricmanager.service"}, .at_boot = true});
}

}  // namespace kgpu::driver
