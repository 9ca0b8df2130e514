// The nodes in /dev by which programs reach the driver.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "src/diagnose/doctor/check.h"
#include "src/diagnose/doctor/facts.h"
#include "src/gpu/device/mig.h"
#include "src/platform/base/strings.h"

namespace kgpu::doctor {
namespace {

// Major number of NVIDIA's GPUs, fixed since ever. Source: devices.txt of the kernel.
constexpr unsigned kGpuMajor = 195;

bool IsThere(const Facts& facts, std::string_view name) {
  return facts.devices.names.contains(std::string(name));
}

void NoControl(const Facts& facts, Findings& findings) {
  if (facts.driver.is_nvidia_live && !IsThere(facts, "nvidiactl")) {
    findings.Add("nvidia is loaded, but /dev/nvidiactl does not exist", {"nvidia-modprobe -c 255"});
  }
}

// The driver gives its GPUs the lowest free numbers. /proc/driver/nvidia/gpus/*/information shows
// them, but reading it waits for the driver's locks, for ever if a GPU hangs, and wakes a GPU that
// sleeps.
void NoGpuNode(const Facts& facts, Findings& findings) {
  const size_t there =
      static_cast<size_t>(std::ranges::count_if(facts.devices.names, [](const std::string& name) {
        return host::NumberedNode(name, "nvidia").has_value();
      }));
  size_t missing = facts.devices.gpu_count - std::min(there, facts.devices.gpu_count);
  for (size_t minor = 0; missing > 0 && minor < facts.devices.gpu_count; ++minor) {
    if (!IsThere(facts, fmt::format("nvidia{}", minor))) {
      --missing;
      findings.Add(fmt::format("the driver has {} GPUs, but /dev/nvidia{} does not exist",
                               facts.devices.gpu_count, minor),
                   {fmt::format("nvidia-modprobe -c {}", minor)});
    }
  }
}

void NoUvmNode(const Facts& facts, Findings& findings) {
  if (facts.driver.is_uvm_loaded && !IsThere(facts, "nvidia-uvm")) {
    findings.Add("nvidia_uvm is loaded, but /dev/nvidia-uvm does not exist",
                 {"nvidia-modprobe -u -c=0"});
  }
}

void WrongNumber(const Facts& facts, Findings& findings) {
  for (const host::GpuNode& gpu : facts.devices.nodes.gpus) {
    if (gpu.node.major != kGpuMajor || gpu.node.minor != gpu.gpu_minor) {
      findings.Add(fmt::format("{} is {}:{}, must be {}:{}", gpu.node.path, gpu.node.major,
                               gpu.node.minor, kGpuMajor, gpu.gpu_minor),
                   {fmt::format("rm {}", gpu.node.path),
                    fmt::format("nvidia-modprobe -c {}", gpu.gpu_minor)});
    }
  }
  const auto uvm = facts.driver.nvidia_majors.find("nvidia-uvm");
  if (facts.devices.nodes.uvm && uvm != facts.driver.nvidia_majors.end() &&
      facts.devices.nodes.uvm->major != uvm->second) {
    findings.Add(fmt::format("/dev/nvidia-uvm has major {}, the module {}",
                             facts.devices.nodes.uvm->major, uvm->second),
                 {"rm /dev/nvidia-uvm /dev/nvidia-uvm-tools", "nvidia-modprobe -u -c=0"});
  }
}

void NoDevice(const Facts& facts, Findings& findings) {
  for (const std::string& problem : facts.devices.nodes.problems) {
    findings.Add(problem, {"ls -l /dev/nvidia*", "# remove everything that is not a device",
                           "nvidia-modprobe -u -c=0"});
  }
}

void Closed(const Facts& facts, Findings& findings) {
  if (!facts.devices.closed.empty()) {
    findings.Add(Join(facts.devices.closed, ", "),
                 {"grep -r NVreg_DeviceFile /etc/modprobe.d /lib/modprobe.d",
                  "chmod 0666 /dev/nvidia[0-9]* /dev/nvidiactl /dev/nvidia-uvm"});
  }
}

void NoMigNodes(const Facts& facts, Findings& findings) {
  // The driver has that file for every GPU since 450, those without MIG too.
  const bool has_mig = std::ranges::any_of(facts.pci.gpus, [](const host::GpuFacts& gpu) {
    return !device::MigProfiles(gpu.pci.device_id).empty();
  });
  if (has_mig && facts.devices.mig_monitor &&
      facts.devices.nodes.FindCap(*facts.devices.mig_monitor) == nullptr) {
    findings.Add(
        fmt::format("the driver supports MIG, but /dev/nvidia-caps/nvidia-cap{} does not exist",
                    *facts.devices.mig_monitor),
        {"nvidia-modprobe -f /proc/driver/nvidia/capabilities/mig/monitor",
         "nvidia-modprobe -f /proc/driver/nvidia/capabilities/mig/config"});
  }
}

constexpr std::array kDeviceChecks = {
    Check{"dev-control-missing", "/dev/nvidiactl is missing", Severity::kError,
          "All programs open it first. nvidia-modprobe creates the driver's nodes when the first "
          "program runs as root; after a boot without one there are none.",
          NoControl},
    Check{"dev-gpu-missing", "A GPU's device node is missing", Severity::kError,
          "The driver has started the GPU, but nothing can open it.", NoGpuNode},
    Check{"dev-uvm-missing", "/dev/nvidia-uvm is missing", Severity::kError,
          "CUDA needs it: cuInit returns \"unknown error\" (999).", NoUvmNode},
    Check{"dev-number-wrong", "A device node has wrong numbers", Severity::kError,
          "Majors are assigned at each boot; nodes created manually or copied with an image "
          "point elsewhere.",
          WrongNumber},
    Check{"dev-not-a-device", "A regular file is where a device node should be", Severity::kError,
          "An engine that should mount a missing device has created a folder, or somebody has "
          "written to it.",
          NoDevice},
    Check{"dev-closed", "Some users cannot open the device nodes", Severity::kWarning,
          "Containers with non-root processes get \"permission denied\". The device cgroup "
          "controls access to a GPU, so the node's mode need not.",
          Closed},
    Check{"dev-mig-missing", "MIG's device nodes are missing", Severity::kWarning,
          "MIG devices are opened through capabilities below /dev/nvidia-caps: without them they "
          "can be neither created nor monitored.",
          NoMigNodes},
};

}  // namespace

std::span<const Check> DeviceChecks() {
  return kDeviceChecks;
}

}  // namespace kgpu::doctor
