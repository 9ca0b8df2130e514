// Red Hat Enterprise Linux and those made of it, releases 8 to 10: packages of NVIDIA's repository,
// by streams of a module up to 9, without from 10 on; modules built by DKMS or by NVIDIA.
#include <fmt/format.h>

#include "src/setup/driver/dnf_steps.h"
#include "src/setup/driver/nvidia_repository.h"
#include "src/setup/driver/pages.h"

namespace kgpu::driver {
namespace {

constexpr std::string_view kSigningKey = "/var/lib/kgpu/signing/nvidia-2019.der";

// The key that NVIDIA signs its modules with lies in the repository, in no package.
void AddRhelSigningKey(Planning& planning) {
  planning.traits.mok_key = kSigningKey;
  if (!NeedsEnrolment(planning.facts, planning.traits)) {
    return;
  }
  AddCommand(planning.plan, "signing-folder", "make a folder for the key", pages::kPrecompiled,
             {"/usr/bin/mkdir", "-p", "/var/lib/kgpu/signing"});
  AddCommand(planning.plan, "signing-key", "fetch the key that NVIDIA's modules are signed with",
             pages::kPrecompiled,
             {ProgramOr(planning.facts, "curl", "/usr/bin/curl"), "--fail", "--silent",
              "--show-error", "--location", "--output", std::string(kSigningKey),
              fmt::format("{}/NVIDIA2019-public_key.der", RepositoryUrl(planning.facts))},
             {"/usr/bin/rm", "-f", std::string(kSigningKey)});
}

// Names of packages hold the driver's version and the kernel's, without distribution and
// architecture: kmod-nvidia-580.95.05-5.14.0-570.55.1.
std::string PrecompiledPackage(const Planning& planning) {
  const std::string& release = planning.facts.kernel.release;
  return fmt::format("kmod-nvidia-{}-{}", planning.choice.version,
                     release.substr(0, release.find(".el")));
}

Status AddPrecompiled(Planning& planning) {
  const Choice& choice = planning.choice;
  if (planning.facts.distribution.major >= 10) {
    return Unimplemented("--source precompiled is not served on {}: take nvidia",
                         planning.facts.distribution.name);
  }
  if (!choice.is_whole()) {
    return InvalidArgument(
        "--source precompiled: packages of NVIDIA's modules for one kernel have the whole version "
        "in their names: ask for it with --version, as in --version 580.95.05; which there are: "
        "dnf list --available 'kmod-nvidia-{}*'",
        choice.branch());
  }
  planning.traits.is_dkms = false;
  AddModuleStream(planning, fmt::format("{}", choice.branch()), pages::kPrecompiled);
  std::vector<std::string> names = {PrecompiledPackage(planning)};
  AddDnfUserSpace(planning, names);
  AddRhelSigningKey(planning);
  AddMigration(planning);
  AddStep(planning.plan, "packages", "install the driver and the modules built for this kernel",
          pages::kPrecompiled, InstallPackages{std::move(names)});
  planning.plan.notes.push_back(
      fmt::format("NVIDIA builds modules for some kernels of Red Hat's only: where {} is not among "
                  "them, take --source nvidia",
                  planning.facts.kernel.release));
  return OkStatus();
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
  if (choice.source == SourceKind::kPrecompiled) {
    return AddPrecompiled(planning);
  }
  const bool has_streams = planning.facts.distribution.major < 10;
  AddDkmsSources(planning);
  AddDnfHeaders(planning, pages::kRhel);
  if (has_streams) {
    AddModuleStream(
        planning,
        fmt::format("{}-{}", choice.branch(), choice.kind == ModuleKind::kOpen ? "open" : "dkms"),
        pages::kRhel);
  }
  AddMigration(planning);
  if (!has_streams) {  // after it: what is locked out can not be fetched to be kept, either
    AddVersionLock(planning);
  }
  AddStep(planning.plan, "packages", "install the driver", pages::kRhel,
          InstallPackages{DnfPackages(planning)});
  return OkStatus();
}

}  // namespace kgpu::driver
