#include "src/diagnose/doctor/commands.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "src/platform/base/strings.h"

namespace kgpu::doctor {
namespace {

std::string_view NamesOf(const Facts& facts, const Packages& packages) {
  if (facts.system.family == host::Family::kUbuntu) {
    return packages.ubuntu;
  }
  if (facts.system.family == host::Family::kSuse) {
    return packages.suse;
  }
  return IsLikeRedHat(facts.system.family) ? packages.rhel : packages.debian;
}

// A module comes after those that depend on it. Source: the users that /proc/modules shows for
// NVIDIA's modules, their own and those of GPUDirect.
constexpr std::array<std::string_view, 7> kModules = {
    "nvidia_fs",      "gdrdrv",     "nvidia_peermem", "nvidia_drm",
    "nvidia_modeset", "nvidia_uvm", "nvidia"};

// "kubelet", "k3s-agent", "rke2-server"; empty: it runs in no unit, as in a container of RKE's.
std::string KubeletUnit(const KubeletFacts& kubelet) {
  if (!kubelet.daemon) {
    return "kubelet";
  }
  if (kubelet.daemon->unit) {
    const std::string& unit = *kubelet.daemon->unit;
    return unit.substr(0, unit.rfind(".service"));
  }
  const std::string& name = kubelet.daemon->name;
  if (name == "kubelite") {
    return "snap.microk8s.daemon-kubelite";
  }
  return name == "k3s-server" ? "k3s" : name;
}

// The services that keep the module in use and run here.
std::string ServicesToStop(const Facts& facts) {
  std::string units;
  units += facts.services.persistence.empty() ? "" : " nvidia-persistenced";
  units += facts.services.fabric.empty() ? "" : " nvidia-fabricmanager";
  return units;
}

}  // namespace

std::string InstallCommand(const Facts& facts, const Packages& packages) {
  const std::string_view names = NamesOf(facts, packages);
  switch (facts.system.packager) {
    case Packager::kApt:
      return fmt::format("apt-get install {}", names);
    case Packager::kDnf:
      return fmt::format("dnf install {}", names);
    case Packager::kYum:
      return fmt::format("yum install {}", names);
    case Packager::kTdnf:
      return fmt::format("tdnf install {}", names);
    case Packager::kZypper:
      return fmt::format("zypper install {}", names);
    case Packager::kTransactional:
      return fmt::format("transactional-update pkg install {}", names);
    case Packager::kOstree:
      return fmt::format("rpm-ostree install {}", names);
    case Packager::kOther:
      break;
  }
  return fmt::format("# install this distribution's package of {}", names);
}

std::string InstallByKgpu(const Facts& facts) {
  return facts.system.can_plan_driver
             ? "kgpu driver install   # kgpu driver plan shows every step first"
             : "";
}

std::vector<std::string> InstallDriver(const Facts& facts, const Packages& packages) {
  std::vector<std::string> commands;
  if (facts.system.family == host::Family::kDebian) {
    commands.emplace_back(
        "# Debian has it in contrib, non-free and non-free-firmware: add them to "
        "/etc/apt/sources.list, then run apt-get update");
  } else if (IsLikeRedHat(facts.system.family)) {
    commands.emplace_back(
        "# it is in NVIDIA's repository (or RPM Fusion's, under other names): add that first");
  }
  commands.push_back(InstallCommand(facts, packages));
  if (facts.system.packager == Packager::kOstree) {
    commands.emplace_back(
        "# OpenShift or bootc node: add it to the image, or use NVIDIA's operator");
  }
  if (facts.system.packager == Packager::kOstree ||
      facts.system.packager == Packager::kTransactional) {
    commands.emplace_back("reboot   # into the new image");
  }
  return commands;
}

std::string ReinstallCommand(const Facts& facts, const std::string& package) {
  switch (facts.system.packager) {
    case Packager::kDnf:
      return fmt::format("dnf reinstall {}", package);
    case Packager::kYum:
      return fmt::format("yum reinstall {}", package);
    case Packager::kTdnf:
      return fmt::format("tdnf reinstall {}", package);
    case Packager::kZypper:
      return fmt::format("zypper install --force {}", package);
    case Packager::kTransactional:
      return fmt::format("transactional-update pkg install --force {}", package);
    case Packager::kOstree:
      return fmt::format("rpm-ostree uninstall {0} && rpm-ostree install {0}", package);
    case Packager::kApt:
    case Packager::kOther:
      break;
  }
  return fmt::format("apt-get install --reinstall {}", package);
}

std::vector<std::string> UpdateCommands(const Facts& facts, const std::string& package) {
  switch (facts.system.packager) {
    case Packager::kDnf:
      return {fmt::format("dnf upgrade {}", package),
              "dnf versionlock list   # shows what holds one of them back"};
    case Packager::kYum:
      return {fmt::format("yum update {}", package),
              "yum versionlock list   # shows what holds one of them back"};
    case Packager::kTdnf:
      return {fmt::format("tdnf update {}", package)};
    case Packager::kZypper:
      return {fmt::format("zypper update {}", package),
              "zypper locks   # shows what holds one of them back"};
    case Packager::kTransactional:
      return {"transactional-update up", "zypper locks   # shows what holds one of them back"};
    case Packager::kOstree:
      return {"rpm-ostree upgrade", "rpm-ostree status   # shows what is pinned or layered"};
    case Packager::kApt:
    case Packager::kOther:
      break;
  }
  return {fmt::format("apt-get update && apt-get install --only-upgrade {}", package),
          "apt-mark showhold   # shows what holds one of them back"};
}

std::string BranchOf(const Facts& facts) {
  const std::string& version = facts.driver.module_version;
  return version.empty() ? "BRANCH" : version.substr(0, version.find('.'));
}

std::string_view UbuntuLine(const Facts& facts) {
  const auto& packages = facts.install.packages;
  const bool is_server = std::ranges::any_of(packages, [](const auto& package) {
    return package.first.find("-server") != std::string::npos;
  });
  // The suffix for a host that has no driver yet: a GPU node is a server.
  return packages.empty() || is_server ? "-server" : "";
}

std::string InitramfsCommand(const Facts& facts) {
  switch (facts.system.packager) {
    case Packager::kApt:
      return "update-initramfs -u";
    case Packager::kOstree:
      return "rpm-ostree initramfs --enable";
    case Packager::kTransactional:
      return "transactional-update initrd";
    case Packager::kDnf:
    case Packager::kYum:
    case Packager::kTdnf:
    case Packager::kZypper:
    case Packager::kOther:
      break;
  }
  return "dracut --force";
}

std::vector<std::string> AddKernelParameter(const Facts& facts, std::string_view parameter) {
  const std::string in_grub =
      fmt::format("# add {} to GRUB_CMDLINE_LINUX in /etc/default/grub", parameter);
  switch (facts.system.packager) {
    case Packager::kApt:
      return {in_grub, "update-grub"};
    // grub2-mkconfig leaves the entries of the boot loader specification as they are.
    case Packager::kDnf:
    case Packager::kYum:
    case Packager::kTdnf:
      return {fmt::format("grubby --update-kernel=ALL --args={}", parameter)};
    case Packager::kZypper:
      return {in_grub, "grub2-mkconfig -o /boot/grub2/grub.cfg"};
    case Packager::kTransactional:
      return {in_grub, "transactional-update grub.cfg"};
    case Packager::kOstree:
      return {fmt::format("rpm-ostree kargs --append-if-missing={}", parameter)};
    case Packager::kOther:
      break;
  }
  return {fmt::format("# add {} to the kernel's command line", parameter)};
}

std::vector<std::string> ReloadCommands(const Facts& facts) {
  std::vector<std::string> loaded;
  for (const std::string_view module : kModules) {
    if (facts.kernel.loaded.contains(std::string(module))) {
      loaded.emplace_back(module);
    }
  }
  const std::string services = ServicesToStop(facts);
  std::vector<std::string> commands = {
      "# stop all GPU programs, including DCGM and exporters: kgpu status lists them"};
  if (!services.empty()) {
    commands.push_back(fmt::format("systemctl stop{}", services));
  }
  if (!loaded.empty()) {
    commands.push_back(fmt::format("modprobe -r {}", Join(loaded, " ")));
  }
  commands.emplace_back("modprobe nvidia && modprobe nvidia-uvm");
  for (const std::string_view module : {"nvidia_peermem", "nvidia_fs", "gdrdrv"}) {
    if (facts.kernel.loaded.contains(std::string(module))) {
      commands.push_back(fmt::format("modprobe {}", module));
    }
  }
  if (!services.empty()) {
    commands.push_back(fmt::format("systemctl start{}", services));
  }
  return commands;
}

std::string RestartKubelet(const KubeletFacts& kubelet) {
  const std::string unit = KubeletUnit(kubelet);
  if (!unit.empty()) {
    return fmt::format("systemctl restart {}", unit);
  }
  return fmt::format("# restart the kubelet, pid {}: no systemd unit runs it",
                     kubelet.daemon ? kubelet.daemon->pid : 0);
}

std::string ReloadKubelet(const KubeletFacts& kubelet) {
  const std::string restart = RestartKubelet(kubelet);
  return restart.starts_with('#') ? restart : fmt::format("systemctl daemon-reload && {}", restart);
}

std::string KubeletLog(const KubeletFacts& kubelet) {
  const std::string unit = KubeletUnit(kubelet);
  return unit.empty() ? "# see the log of the kubelet's container"
                      : fmt::format("journalctl -u {} -n 50", unit);
}

void DropSystemd(std::vector<std::string>& fix) {
  for (std::string& command : fix) {
    const bool asks = command.find("systemctl ") != std::string::npos ||
                      command.find("journalctl ") != std::string::npos;
    if (asks && !command.starts_with('#')) {
      command = fmt::format("# use your init system's equivalent of: {}", command);
    }
  }
}

}  // namespace kgpu::doctor
