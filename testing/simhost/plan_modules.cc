#include <fmt/format.h>

#include <iterator>

#include "testing/simhost/plan.h"

namespace kgpu::simhost {
namespace {

// Where the distribution's own packages, or DKMS, put the driver's modules, and what they call it.
std::string DriverModule(const HostView& host, std::string_view version) {
  switch (host.distro) {
    case Distro::kDebian:
      return fmt::format("updates/dkms/nvidia-{}{}",
                         version.starts_with("470.") ? "tesla-470" : "current",
                         host.is_module_open ? "-open" : "");
    case Distro::kUbuntu:
      return "updates/dkms/nvidia";
    case Distro::kRhel:
      return "extra/nvidia";
    case Distro::kSuse:
      break;
  }
  return "updates/nvidia";
}

}  // namespace

void PlanModules(const HostView& host, Tree& tree) {
  const std::string folder = fmt::format("usr/lib/modules/{}", host.kernel_release);
  std::string dependencies;
  const auto add = [&](const std::string& module, std::string_view needs) {
    const std::string stand_in = fmt::format("{}: a module of a simulated host\n", module);
    tree.File(fmt::format("{}/{}.ko", folder, module), stand_in);
    fmt::format_to(std::back_inserter(dependencies), "{}.ko:{}\n", module, needs);
  };
  add("kernel/drivers/gpu/drm/drm", "");
  add("kernel/fs/ext4/ext4", "");
  add("kernel/fs/overlayfs/overlay", "");
  // The libraries' version is the one on the disk: what is loaded may be another one.
  const std::string& version =
      host.library_version.empty() ? host.module_version : host.library_version;
  if (!version.empty()) {
    const std::string driver = DriverModule(host, version);
    add(driver, "");
    for (const std::string_view part : {"uvm", "modeset", "drm", "peermem"}) {
      add(fmt::format("{}-{}", driver, part), fmt::format(" {}.ko", driver));
    }
  }
  tree.File(folder + "/modules.dep", dependencies);
  tree.File(folder + "/modules.builtin", "kernel/net/unix/unix.ko\n");
  tree.File(folder + "/build/Makefile", "# headers of a simulated host\n");
}

}  // namespace kgpu::simhost
