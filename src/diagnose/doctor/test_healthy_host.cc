#include "src/diagnose/doctor/test_healthy_host.h"

#include <sys/stat.h>

#include <filesystem>

#include <fmt/format.h>

#include "src/container/engine/test_engine_host.h"
#include "src/host/change/disk.h"
#include "src/platform/base/strings.h"

namespace kgpu::doctor {
namespace {

constexpr std::string_view kKey = "a key of this host";

// Two regions of an A100: 16 MiB of registers, 64 GiB of memory.
constexpr std::string_view kResource =
    "0x00000000a0000000 0x00000000a0ffffff 0x0000000000040200\n"
    "0x0000020000000000 0x0000020fffffffff 0x000000000014220c\n"
    "0x0000000000000000 0x0000000000000000 0x0000000000000000\n";

// Below a root port and a switch with a port for each.
constexpr std::string_view kSwitch = "sys/devices/pci0000:14/0000:14:01.0/0000:15:00.0";

std::string SysfsFolder(std::string_view address) {
  return fmt::format("{}/{}", PortFolder(address), address);
}

}  // namespace

std::string PortFolder(std::string_view gpu) {
  return fmt::format("{}/{}", kSwitch, gpu == kGpu ? kSwitchPort : kSecondSwitchPort);
}

HealthyHost::HealthyHost(host::Family family) {
  if (family == host::Family::kRhel || family == host::Family::kSuse) {
    host_.InstallRhel();
  } else {
    host_.InstallDebian();
  }
  has_nodes_ = host_.AddNodes(2);
  for (const std::string_view name : {"nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm"}) {
    (void)chmod(dir().At(fmt::format("dev/{}", name)).c_str(), 0666);  // whatever the umask
  }
  AddGpu(kGpu);
  AddGpu(kSecondGpu);
  Write("sys/devices/system/node/node0/cpulist", "0-15\n");
  Write("sys/devices/system/node/node1/cpulist", "16-31\n");
  AddKernel();
  AddEngine();
  AddKubelet();
  Link("/usr/lib/systemd/system/multi-user.target", "etc/systemd/system/default.target");
  Write("proc/stat", "btime 1700000000\n");
  AddProcess(700, "nvidia-persiste", {"/usr/bin/nvidia-persistenced", "--user", "nvpd"});
  AddDistribution(family);
}

void HealthyHost::AddDistribution(host::Family family) const {
  if (family == host::Family::kDebian) {
    Write("etc/os-release", "ID=debian\nVERSION_ID=\"12\"\n");
    Write("var/lib/dpkg/status",
          "Package: nvidia-kernel-dkms\nStatus: install ok installed\nVersion: 535.104.05-1\n\n"
          "Package: libcuda1\nStatus: install ok installed\nVersion: 535.104.05-1~deb12u1\n\n"
          "Package: nvidia-utils-470\nStatus: deinstall ok config-files\nVersion: 470.1.2-1\n\n");
    return;
  }
  // Modules that somebody else has built and signed.
  Remove("var/lib/dkms");
  Remove(fmt::format("lib/modules/{}/updates", kRelease));
  host_.AddProgram("usr/sbin/modinfo");
  std::string file = "extra/nvidia.ko.xz";
  if (family == host::Family::kUbuntu) {
    file = "kernel/nvidia-535srv/nvidia.ko.zst";
    Write("etc/os-release", "ID=ubuntu\nID_LIKE=debian\nVERSION_ID=\"22.04\"\n");
    Write("var/lib/dpkg/status",
          "Package: libnvidia-compute-535-server\nStatus: install ok installed\n"
          "Version: 535.104.05-0ubuntu0.22.04.1\n\nPackage: nvidia-fabricmanager-dev-535\n"
          "Status: install ok installed\nVersion: 535.54.03-0ubuntu1\n\n");
  } else if (family == host::Family::kRhel) {
    Write("etc/os-release", "ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\nVERSION_ID=\"9.3\"\n");
  } else {
    file = "updates/nvidia.ko.zst";
    Write("etc/os-release", "ID=\"sles\"\nID_LIKE=\"suse\"\nVERSION_ID=\"15.6\"\n");
  }
  if (family != host::Family::kUbuntu) {
    host_.AddProgram("usr/bin/rpm");
    Write(kRpmPackages,
          "kmod-nvidia-open-dkms\t535.104.05\nnvidia-driver-cuda\t535.104.05\n"
          "nvidia-open-driver-G06-signed-kmp-default\t535.104.05_k6.4.0\n"
          "nvidia-container-toolkit\t1.17.3\n");
  }
  Write(fmt::format("lib/modules/{}/{}", kRelease, file), "packed");
  Write(fmt::format("lib/modules/{}/modules.dep", kRelease),
        fmt::format("{}:\nkernel/drivers/gpu/drm/nouveau/nouveau.ko.xz:\n", file));
}

void HealthyHost::AddGpu(std::string_view address) const {
  const std::string folder = SysfsFolder(address);
  const std::vector<std::pair<std::string_view, std::string_view>> files = {
      {"vendor", "0x10de\n"},
      {"device", "0x20b5\n"},
      {"class", "0x030200\n"},
      {"subsystem_vendor", "0x10de\n"},
      {"subsystem_device", "0x1533\n"},
      {"numa_node", "0\n"},
      {"resource", kResource},
      {"current_link_width", "16\n"},
      {"max_link_width", "16\n"},
      {"aer_dev_fatal", "DLP 0\nTOTAL_ERR_FATAL 0\n"},
      {"iommu_group/type", "identity\n"}};
  for (const auto& [name, text] : files) {
    Write(fmt::format("{}/{}", folder, name), text);
  }
  Link("../../../../bus/pci/drivers/nvidia", folder + "/driver");
  Link(fmt::format("../../../../{}", folder), fmt::format("sys/bus/pci/devices/{}", address));
}

void HealthyHost::AddKernel() const {
  const std::string modules = fmt::format("lib/modules/{}", kRelease);
  Write("proc/sys/kernel/osrelease", fmt::format("{}\n", kRelease));
  Write("proc/sys/kernel/modules_disabled", "0\n");
  Write("proc/version", "Linux version 6.1.0-18-amd64 (a@b) (gcc-12 (Debian 12.2.0-14) 12.2.0)\n");
  Write("proc/cmdline", "root=/dev/sda1 ro quiet\n");
  Write(
      "proc/driver/nvidia/version",
      "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023\n");
  Write("proc/devices", "Character devices:\n195 nvidia-frontend\n509 nvidia-uvm\n");
  for (size_t i = 0; const std::string_view address : {kGpu, kSecondGpu}) {
    Write(fmt::format("proc/driver/nvidia/gpus/{}/information", address),
          fmt::format("Model: NVIDIA A100\nBus Location: {}\nDevice Minor: {}\n", address, i++));
  }
  Load({"nvidia", "nvidia_uvm"});
  Write(modules + "/build/Makefile", "\n");
  Write(modules + "/modules.dep",
        "updates/dkms/nvidia.ko:\nkernel/drivers/gpu/drm/nouveau/nouveau.ko:\n");
  Write(modules + "/updates/dkms/nvidia.ko", "code~Module signature appended~\n");
  Write(fmt::format("var/lib/dkms/nvidia/535.104.05/{}/x86_64/log", kRelease), "");
  Write("usr/bin/gcc-12", "");
  Link("gcc-12", "usr/bin/gcc");
  Write("var/lib/dkms/mok.pub", kKey);
  Write("sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c",
        std::string_view("\6\0\0\0\1", 5));
  Write("sys/firmware/efi/efivars/MokListRT-605dab50-e046-4300-abb6-3dd810dd8b23",
        fmt::format("head {} tail", kKey));
  Write("etc/modprobe.d/nouveau.conf", "blacklist nouveau\n");
}

// containerd 2.0 below systemd, and a CDI spec.
void HealthyHost::AddEngine() const {
  host_.AddProgram("usr/bin/containerd");
  host_.AddProgram("usr/sbin/runc");
  Write(kRuncVersion, "runc version 1.1.12\nspec: 1.0.2\n");
  AddProcess(710, "containerd", {"/usr/bin/containerd"});
  Write("proc/710/limits",
        "Limit  Soft Limit  Hard Limit  Units\n"
        "Max locked memory         unlimited            unlimited  bytes\n");
  Write("etc/containerd/config.toml",
        "version = 3\n[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]\n"
        "SystemdCgroup = true\n");
  Write("usr/lib/systemd/system/containerd.service", "");
  Write("run/systemd/system/x", "");
  Write("sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
  for (const auto& [number, name] :
       {std::pair("195:0", "nvidia0"), {"195:1", "nvidia1"}, {"195:255", "nvidiactl"}}) {
    Link(fmt::format("../{}", name), fmt::format("dev/char/{}", number));
  }
  Write("var/run/cdi/kgpu.dev-gpu.json",
        R"({"cdiVersion": "0.5.0", "kind": "kgpu.dev/gpu", "devices": [{"name": "0",
            "containerEdits": {"deviceNodes": [{"path": "/dev/nvidia0"}]}}]})");
}

void HealthyHost::WriteGpu(std::string_view name, std::string_view text) const {
  Write(fmt::format("{}/{}", SysfsFolder(kGpu), name), text);
}

void HealthyHost::Remove(std::string_view path) const {
  std::filesystem::remove_all(dir().At(path));
}

void HealthyHost::Link(std::string_view target, std::string_view path) const {
  Remove(path);
  dir().Symlink(target, path);
}

void HealthyHost::AddProcess(int pid, const std::string& name,
                             const std::vector<std::string>& argv) const {
  const std::string at = fmt::format("proc/{}/", pid);
  Write(at + "comm", name + "\n");
  Write(at + "cmdline", Join(argv, std::string(1, '\0')) + '\0');
  Write(at + "status", fmt::format("Name:\t{}\nNSpid:\t{}\n", name, pid));
  Write(at + "stat",
        // Started after every file of this test was written.
        fmt::format("{} (x) S 1 1 1 0 -1 4194560 1 1 1 1 1 1 1 1 20 0 9 0 40000000000 1 1\n", pid));
}

void HealthyHost::Load(const std::vector<std::string>& modules) const {
  std::string text;
  for (const std::string& name : modules) {
    text += fmt::format("{} 16384 0 - Live 0x0000000000000000\n", name);
  }
  Write("proc/modules", text);
}

void HealthyHost::Unload() const {
  Load({});
  Remove("proc/driver/nvidia");
  for (const std::string_view address : {kGpu, kSecondGpu}) {
    Remove(SysfsFolder(address) + "/driver");
  }
}

Diagnosis HealthyHost::Look(const std::string& engine_root,
                            const std::vector<std::string>& only) const {
  const auto root = host::OpenDriverRoot(host_.path(), "", engine_root);
  if (!root.ok()) {
    return {};
  }
  ScriptedRunner runner;
  runner.Answer("/usr/bin/containerd", "");
  runner.Answer("/usr/bin/containerd --version", "containerd github.com/containerd v2.0.1 x\n");
  runner.Answer("/usr/bin/dockerd --version", "Docker version 20.10.24, build x\n");
  runner.Answer("/usr/sbin/modinfo", "filename: nvidia.ko\nsigner: the distribution\n");
  runner.Answer("/usr/bin/rpm -qa", dir().ReadFile(kRpmPackages));
  runner.Answer("/usr/sbin/runc --version", dir().ReadFile(kRuncVersion));
  runner.Answer("/usr/bin/kubelet --version", dir().ReadFile(kKubeletVersion));
  auto diagnosis = Diagnose(GatherFacts(*root, runner, RealClock(), Hear()), only);
  return diagnosis.ok() ? *std::move(diagnosis) : Diagnosis{};
}

std::vector<std::string> HealthyHost::Ids() const {
  std::vector<std::string> ids;
  for (const Finding& finding : Look().findings) {
    ids.emplace_back(finding.id);
  }
  return ids;
}

std::vector<std::string> HealthyHost::Troubles() const {
  std::vector<std::string> ids;
  for (const Finding& finding : Look().findings) {
    if (finding.severity != Severity::kInfo) {
      ids.emplace_back(finding.id);
    }
  }
  return ids;
}

void HealthyHost::Fix() const {
  const auto root = sys::Root::Open(host_.path());
  if (root.ok()) {
    change::HostDisk disk(*root);
    (void)doctor::Fix(Look(), *root, disk, false);
  }
}

}  // namespace kgpu::doctor
