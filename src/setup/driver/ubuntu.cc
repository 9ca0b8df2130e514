// Ubuntu's own packages, whose modules come built and signed for its kernels, and NVIDIA's
// repository for Ubuntu.
#include <fmt/format.h>

#include <algorithm>

#include "src/setup/driver/apt_steps.h"
#include "src/setup/driver/offers.h"
#include "src/setup/driver/pages.h"

namespace kgpu::driver {
namespace {

// "generic", "aws", or as in the name of the installed kernel package: "generic-hwe-22.04".
std::string KernelSeries(const HostFacts& facts) {
  std::string series = facts.kernel.flavour;
  const std::string start = fmt::format("linux-image-{}-", facts.kernel.flavour);
  for (const auto& [name, package] : facts.packages) {
    if (name.starts_with(start)) {
      series = name.substr(std::string_view("linux-image-").size());
    }
  }
  return series;
}

// Names with "server" are the same driver kept for long on the branches for data centres.
std::vector<std::string> ModulePackages(const Planning& planning) {
  const std::string stem = fmt::format("{}-server{}", planning.choice.branch(),
                                       planning.choice.kind == ModuleKind::kOpen ? "-open" : "");
  if (!HasUbuntuModules(planning.facts)) {
    return {fmt::format("nvidia-dkms-{}", stem)};
  }
  // The second brings the modules of kernels to come.
  return {fmt::format("linux-modules-nvidia-{}-{}", stem, planning.facts.kernel.release),
          fmt::format("linux-modules-nvidia-{}-{}", stem, KernelSeries(planning.facts))};
}

std::vector<std::string> UserPackages(const Planning& planning) {
  const unsigned branch = planning.choice.branch();
  std::vector<std::string> names = {
      fmt::format("nvidia-headless-no-dkms-{}-server{}", branch,
                  planning.choice.kind == ModuleKind::kOpen ? "-open" : ""),
      fmt::format("libnvidia-encode-{}-server", branch),
      fmt::format("libnvidia-decode-{}-server", branch),
      fmt::format("nvidia-utils-{}-server", branch), "nvidia-modprobe"};
  if (HasFabric(planning.facts)) {
    names.push_back(fmt::format("nvidia-fabricmanager-{}", branch));
  }
  return names;
}

void AddUbuntuPackages(Planning& planning) {
  const HostFacts& facts = planning.facts;
  const bool is_built = HasUbuntuModules(facts);
  planning.traits.page = pages::kUbuntuServer;
  planning.traits.is_dkms = !is_built;
  planning.traits.is_signed = is_built;
  planning.traits.has_fabric_manager = HasFabric(facts);
  AddArchiveComponents(planning, {"restricted", "multiverse"}, pages::kUbuntuServer);
  AddPackageLists(planning, pages::kUbuntuServer);
  if (!is_built) {
    planning.plan.notes.push_back(fmt::format(
        "Ubuntu provides no modules for kernel {}: DKMS builds them here", facts.kernel.release));
    AddAptHeaders(planning, pages::kUbuntuServer);
  }
  AddMigration(planning);
  AddStep(planning.plan, "modules", "install the kernel modules", pages::kUbuntuServer,
          InstallPackages{ModulePackages(planning)});
  AddStep(planning.plan, "packages", "install the driver's user space", pages::kUbuntuServer,
          InstallPackages{UserPackages(planning)});
}

}  // namespace

Status AddUbuntuSteps(Planning& planning) {
  planning.traits.mok_key = "/var/lib/shim-signed/mok/MOK.der";
  switch (planning.choice.source) {
    case SourceKind::kDistribution:
    case SourceKind::kPrecompiled:
      AddUbuntuPackages(planning);
      return OkStatus();
    case SourceKind::kNvidia:
      AddNvidiaAptPackages(planning, pages::kUbuntu);
      return OkStatus();
    default:
      return NotServed(planning, "distribution or nvidia");
  }
}

}  // namespace kgpu::driver
