// Red Hat Enterprise Linux and those made of it, releases 8 to 10: packages of NVIDIA's repository,
// by streams of a module up to 9, without from 10 on; modules built by DKMS or by NVIDIA.
#include <fmt/format.h>

#include "src/driver/dnf_steps.h"
#include "src/driver/nvidia_repository.h"
#include "src/driver/pages.h"

namespace kgpu::driver {
namespace {

// DKMS is not Red Hat's: it comes from EPEL, which itself wants a repository that is off by
// default.
void AddDkmsSources(Planning& planning) {
  const HostFacts& facts = planning.facts;
  const unsigned major = facts.distribution.major;
  if (facts.HasPackage("epel-release")) {
    return;
  }
  const std::string dnf = Dnf(facts);
  if (facts.distribution.id == "rhel") {
    const std::string id = fmt::format("codeready-builder-for-rhel-{}-{}-rpms", major, facts.arch);
    const std::string manager =
        ProgramOr(facts, "subscription-manager", "/usr/sbin/subscription-manager");
    AddCommand(planning.plan, "builder-repository", "add the repository that EPEL builds on",
               pages::kRhel, {manager, "repos", fmt::format("--enable={}", id)},
               {manager, "repos", fmt::format("--disable={}", id)});
    AddStep(
        planning.plan, "epel", "add EPEL, which has DKMS", pages::kRhel,
        InstallPackages{{fmt::format(
            "https://dl.fedoraproject.org/pub/epel/epel-release-latest-{}.noarch.rpm", major)}});
    planning.plan.notes.emplace_back(
        "the host must be subscribed (subscription-manager status): its repositories have the "
        "headers of the kernel");
    return;
  }
  if (facts.distribution.id == "ol") {
    const std::string id = fmt::format("ol{}_codeready_builder", major);
    AddCommand(planning.plan, "builder-repository", "add the repository that EPEL builds on",
               pages::kRhel, {dnf, "config-manager", "--set-enabled", id},
               {dnf, "config-manager", "--set-disabled", id});
    AddStep(planning.plan, "epel", "add EPEL, which has DKMS", pages::kRhel,
            InstallPackages{{fmt::format("oracle-epel-release-el{}", major)}});
    return;
  }
  const std::string id = major == 8 ? "powertools" : "crb";
  AddCommand(planning.plan, "builder-repository", "add the repository that EPEL builds on",
             pages::kRhel, {dnf, "config-manager", "--set-enabled", id},
             {dnf, "config-manager", "--set-disabled", id});
  AddStep(planning.plan, "epel", "add EPEL, which has DKMS", pages::kRhel,
          InstallPackages{{"epel-release"}});
}

void AddPrecompiled(Planning& planning) {
  const bool is_open = planning.choice.kind == ModuleKind::kOpen;
  planning.traits.is_dkms = false;
  planning.traits.mok_key = "/usr/share/doc/kmod-nvidia/driver-module-signing-key.der";
  AddModuleStream(planning, fmt::format("{}{}", planning.choice.branch(), is_open ? "-open" : ""),
                  pages::kRhel);
  AddStep(planning.plan, "packages", "install the driver and the modules built for this kernel",
          pages::kRhel,
          InstallPackages{{is_open ? "kmod-nvidia-open" : "kmod-nvidia", "nvidia-driver-cuda",
                           "nvidia-modprobe", "nvidia-persistenced"}});
  planning.plan.notes.push_back(
      fmt::format("NVIDIA builds modules for some kernels of Red Hat's only: the check before "
                  "installing tells whether {} is among them",
                  planning.facts.kernel.release));
}

}  // namespace

Status AddRhelSteps(Planning& planning) {
  const Choice& choice = planning.choice;
  planning.traits.page = pages::kRhel;
  planning.traits.has_fabric_manager = HasFabric(planning.facts);
  if (planning.facts.distribution.major < 8) {
    return Unimplemented("{}: NVIDIA has no packages for it any more: take --source FILE.run",
                         planning.facts.distribution.name);
  }
  AddDnfRepository(planning, pages::kRhel);
  const bool has_streams = planning.facts.distribution.major < 10;
  if (choice.source == SourceKind::kPrecompiled) {
    if (!has_streams) {
      return Unimplemented("--source precompiled is not served on {}: take nvidia",
                           planning.facts.distribution.name);
    }
    AddPrecompiled(planning);
    return OkStatus();
  }
  AddDkmsSources(planning);
  AddDnfHeaders(planning, pages::kRhel);
  if (has_streams) {
    AddModuleStream(
        planning,
        fmt::format("{}-{}", choice.branch(), choice.kind == ModuleKind::kOpen ? "open" : "dkms"),
        pages::kRhel);
  } else {
    AddVersionLock(planning, pages::kRhel);
  }
  AddStep(planning.plan, "packages", "install the driver", pages::kRhel,
          InstallPackages{DnfPackages(planning)});
  return OkStatus();
}

}  // namespace kgpu::driver
