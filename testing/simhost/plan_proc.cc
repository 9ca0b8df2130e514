#include <fmt/format.h>

#include "src/platform/base/strings.h"
#include "testing/driver/state_mig.h"
#include "testing/simhost/plan.h"

namespace kgpu::simhost {
namespace {

constexpr std::string_view kNvidiaProc = "proc/driver/nvidia";

unsigned Branch(std::string_view version) {
  return static_cast<unsigned>(ParseUint(version.substr(0, version.find('.'))).value_or(0));
}

bool IsLoaded(const HostView& host) {
  return !host.module_version.empty();
}

std::string_view ArchName(const HostView& host) {
  return host.arch == Arch::kAarch64 ? "aarch64" : "x86_64";
}

std::string ProcDevicesText(const HostView& host) {
  std::string text =
      "Character devices:\n  1 mem\n  4 tty\n  5 /dev/tty\n 10 misc\n 13 input\n136 pts\n";
  if (IsLoaded(host)) {
    // Up to branch 535 one front end served all minors; newer modules register each name.
    if (Branch(host.module_version) < 545) {
      text += fmt::format("{:3} nvidia-frontend\n", kNvidiaMajor);
    } else {
      text += fmt::format("{0:3} nvidia\n{0:3} nvidia-modeset\n{0:3} nvidiactl\n", kNvidiaMajor);
    }
  }
  text += fmt::format("{:3} drm\n", kDrmMajor);
  if (IsLoaded(host)) {
    if (!host.nvswitches.empty()) {
      text += fmt::format("{:3} nvidia-nvlink\n", host.majors.nvlink);
      text += fmt::format("{:3} nvidia-nvswitch\n", host.majors.nvswitch);
    }
    text += fmt::format("{:3} nvidia-caps\n", host.majors.caps);
    text += fmt::format("{:3} nvidia-uvm\n", host.majors.uvm);
    if (host.companions.imex_channels > 0) {
      text += fmt::format("{:3} nvidia-caps-imex-channels\n", host.majors.imex);
    }
    if (host.companions.has_gds) {
      text += fmt::format("{:3} nvidia-fs\n", host.majors.gds);
    }
    if (host.companions.has_gdrcopy) {
      text += fmt::format("{:3} gdrdrv\n", host.majors.gdrcopy);
    }
  }
  if (host.companions.rdma_cards > 0) {
    text += fmt::format("{:3} infiniband_verbs\n", host.majors.infiniband);
  }
  return text + "\nBlock devices:\n  7 loop\n  8 sd\n253 device-mapper\n259 blkext\n";
}

std::string ProcModules(const HostView& host) {
  std::string text;
  const auto add = [&text](std::string_view name, unsigned size, unsigned users,
                           std::string_view by, std::string_view taint) {
    text += fmt::format("{} {} {} {} Live 0x0000000000000000{}\n", name, size, users, by, taint);
  };
  if (host.is_nouveau) {
    add("nouveau", 2433024, 1, "-", "");
    add("drm_kms_helper", 212992, 1, "nouveau,", "");
  }
  if (IsLoaded(host)) {
    const std::string_view taint = host.is_module_open ? " (OE)" : " (POE)";
    if (host.companions.has_gds) {
      add("nvidia_fs", 315392, 0, "-", " (OE)");
    }
    if (host.companions.has_gdrcopy) {
      add("gdrdrv", 28672, 0, "-", " (OE)");
    }
    add("nvidia_uvm", 1540096, 4, "-", taint);
    add("nvidia_drm", 77824, 0, "-", taint);
    add("nvidia_modeset", 1306624, 1, "nvidia_drm,", taint);
    add("nvidia", 56713216, 155, "nvidia_uvm,nvidia_modeset,", taint);
    add("drm_kms_helper", 212992, 1, "nvidia_drm,", "");
  }
  if (host.companions.rdma_cards > 0) {
    add("mlx5_ib", 450560, 0, "-", "");
    add("rdma_ucm", 36864, 0, "-", "");
    add("ib_uverbs", 188416, 2, "rdma_ucm,mlx5_ib,", "");
  }
  add("drm", 614400, 4, "drm_kms_helper,", "");
  add("overlay", 163840, 0, "-", "");
  add("ext4", 983040, 1, "-", "");
  return text;
}

std::string VersionText(const HostView& host) {
  const std::string module =
      host.is_module_open
          ? fmt::format("NVIDIA UNIX Open Kernel Module for {}  {}  Release Build  (root@build)",
                        ArchName(host), host.module_version)
          : fmt::format("NVIDIA UNIX {} Kernel Module  {}", ArchName(host), host.module_version);
  return fmt::format(
      "NVRM version: {}  Sat Aug 19 01:15:15 UTC 2023\n"
      "GCC version:  gcc version 12.2.0 (GCC) \n",
      module);
}

std::string GpuInformation(const HostView& host, const GpuView& gpu) {
  std::string text = fmt::format(
      "Model: \t\t {}\nIRQ:   \t\t {}\nGPU UUID: \t {}\nVideo BIOS: \t {}\nBus Type: \t PCIe\n"
      "DMA Size: \t 47 bits\nDMA Mask: \t 0x7fffffffffff\nBus Location: \t {}\n"
      "Device Minor: \t {}\n",
      gpu.name, 120 + gpu.minor, gpu.uuid, gpu.vbios, gpu.pci.str(), gpu.minor);
  if (Branch(host.module_version) >= 470) {
    text += fmt::format("GPU Firmware: \t {}\n",
                        host.is_module_open ? host.module_version : std::string("N/A"));
  }
  return text + "GPU Excluded:\t No\n";
}

std::string CapabilityText(unsigned minor, unsigned mode) {
  return fmt::format("DeviceFileMinor: {}\nDeviceFileMode: {}\nDeviceFileModify: 1\n", minor, mode);
}

constexpr unsigned kOwnerReads = 0400;
constexpr unsigned kAllRead = 0444;

void AddInstances(Tree& tree, const GpuView& gpu) {
  const std::string folder = fmt::format("{}/capabilities/gpu{}/mig", kNvidiaProc, gpu.minor);
  tree.Folder(folder);
  for (const GpuInstanceView& instance : gpu.instances) {
    const std::string path = fmt::format("{}/gi{}", folder, instance.id);
    tree.File(path + "/access",
              CapabilityText(sim::GpuInstanceCapMinor(gpu.minor, instance.id), kAllRead), 0444);
    for (const unsigned compute : instance.compute_instances) {
      const unsigned minor = sim::ComputeInstanceCapMinor(gpu.minor, instance.id, compute);
      tree.File(fmt::format("{}/ci{}/access", path, compute), CapabilityText(minor, kAllRead),
                0444);
    }
  }
}

// Every minor the module could ever give to an instance of these GPUs, as the module lists them.
std::string MigMinors(const HostView& host) {
  std::string text = "config 1\nmonitor 2\n";
  for (const GpuView& gpu : host.gpus) {
    if (!gpu.is_mig_capable) {
      continue;
    }
    for (unsigned instance = 0; instance < 15; ++instance) {
      text += fmt::format("gpu{}/gi{}/access {}\n", gpu.minor, instance,
                          sim::GpuInstanceCapMinor(gpu.minor, instance));
      for (unsigned compute = 0; compute < 8; ++compute) {
        text += fmt::format("gpu{}/gi{}/ci{}/access {}\n", gpu.minor, instance, compute,
                            sim::ComputeInstanceCapMinor(gpu.minor, instance, compute));
      }
    }
  }
  return text;
}

void AddCapabilities(const HostView& host, Tree& tree) {
  const std::string folder = fmt::format("{}/capabilities", kNvidiaProc);
  tree.File(folder + "/mig/config", CapabilityText(1, kOwnerReads), 0444);
  tree.File(folder + "/mig/monitor", CapabilityText(2, kAllRead), 0444);
  for (const GpuView& gpu : host.gpus) {
    tree.Folder(fmt::format("{}/gpu{}", folder, gpu.minor));
    if (gpu.is_mig_enabled) {
      AddInstances(tree, gpu);
    }
  }
  tree.File("proc/driver/nvidia-caps/mig-minors", MigMinors(host), 0444);
  tree.File("proc/driver/nvidia-caps/sys-minors", "", 0444);
}

void AddModuleFiles(const HostView& host, Tree& tree) {
  tree.File(fmt::format("{}/version", kNvidiaProc), VersionText(host), 0444);
  tree.File(fmt::format("{}/params", kNvidiaProc),
            "ResmanDebugLevel: 4294967295\nRmLogonRC: 1\nModifyDeviceFiles: 1\nDeviceFileUID: 0\n"
            "DeviceFileGID: 0\nDeviceFileMode: 438\nInitializeSystemMemoryAllocations: 1\n"
            "UsePageAttributeTable: 4294967295\nEnableMSI: 1\nRegisterPCIDriver: 1\n"
            "EnablePCIeGen3: 0\nMemoryPoolSize: 0\nEnableGpuFirmware: 18\n"
            "RegistryDwords: \"\"\nRegistryDwordsPerDevice: \"\"\nRmMsg: \"\"\n"
            "GpuBlacklist: \"\"\nTemporaryFilePath: \"\"\nExcludedGpus: \"\"\n",
            0444);
  tree.File(fmt::format("{}/registry", kNvidiaProc), "Binary: \"\"\n", 0644);
  for (const GpuView& gpu : host.gpus) {
    const std::string folder = fmt::format("{}/gpus/{}", kNvidiaProc, gpu.pci.str());
    tree.File(folder + "/information", GpuInformation(host, gpu), 0444);
    tree.File(folder + "/registry", "Binary: \"\"\n", 0644);
  }
  for (const ProfileSwitch& nvswitch : host.nvswitches) {
    tree.File(fmt::format("proc/driver/nvidia-nvswitch/devices/{}/information", nvswitch.pci.str()),
              fmt::format("BIOS Version: 92.10.18.00.02\nPCI BDF: {}\n", nvswitch.pci.str()), 0444);
  }
}

}  // namespace

void PlanProc(const HostView& host, Tree& tree) {
  tree.File("proc/devices", ProcDevicesText(host), 0444);
  tree.File("proc/modules", ProcModules(host), 0444);
  tree.File("proc/cmdline",
            fmt::format("BOOT_IMAGE=/boot/vmlinuz-{} root=/dev/sda1 ro quiet iommu=pt\n",
                        host.kernel_release),
            0444);
  tree.File("proc/version",
            fmt::format("Linux version {} (root@build) (gcc 12.2.0) #1 SMP\n", host.kernel_release),
            0444);
  // The host's programs and processes are this machine's: one PID namespace.
  tree.File("proc/self/status", "Name:\tkgpu\nPid:\t1000\nNSpid:\t1000\n", 0444);
  tree.File("proc/sys/kernel/osrelease", host.kernel_release + "\n", 0444);
  tree.File("proc/sys/kernel/random/boot_id", "5e1f0c7a-3d42-4b6e-9a51-0c0ffee0d15c\n", 0444);
  if (IsLoaded(host)) {
    AddModuleFiles(host, tree);
    AddCapabilities(host, tree);
  }
  for (const ProcessView& process : host.processes) {
    tree.File(fmt::format("proc/{}/cgroup", process.pid), process.cgroup, 0444);
  }
}

}  // namespace kgpu::simhost
