// Red Hat Enterprise Linux and its derivatives, Fedora, and Amazon Linux: packages of NVIDIA's
// repository, modules built by DKMS or, for Red Hat's kernels, by NVIDIA.
#include <fmt/format.h>

#include "src/platform/base/status_macros.h"
#include "src/setup/driver/dnf_steps.h"
#include "src/setup/driver/nvidia_repository.h"
#include "src/setup/driver/pages.h"

namespace kgpu::driver {
namespace {

constexpr std::string_view kSigningKey = "/var/lib/kgpu/signing/nvidia-2019.der";

// The key with which NVIDIA signs its modules is in the repository, but in no package.
void AddRhelSigningKey(Planning& planning) {
  planning.traits.mok_key = kSigningKey;
  if (!NeedsEnrolment(planning.facts, planning.traits)) {
    return;
  }
  AddCommand(planning.plan, "signing-folder", "create a folder for the key", pages::kPrecompiled,
             {"/usr/bin/mkdir", "-p", "/var/lib/kgpu/signing"});
  AddCommand(planning.plan, "signing-key", "download the key that signs NVIDIA's modules",
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
    return NotServed(planning, "nvidia");
  }
  if (!choice.is_whole()) {
    return InvalidArgument(
        "--source precompiled: set the full version with --version, e.g. --version 580.95.05, "
        "because NVIDIA's precompiled packages have it in their names; to list them: dnf list "
        "--available 'kmod-nvidia-{}*'",
        choice.branch());
  }
  planning.traits.is_dkms = false;
  AddRhelSigningKey(planning);
  AddMigration(planning);
  AddModuleStream(planning, fmt::format("{}", choice.branch()), pages::kPrecompiled);
  std::vector<std::string> names = {PrecompiledPackage(planning)};
  AddDnfUserSpace(planning, names);
  AddStep(planning.plan, "packages", "install the driver and the modules built for this kernel",
          pages::kPrecompiled, InstallPackages{std::move(names)});
  planning.plan.notes.push_back(
      fmt::format("NVIDIA builds modules only for some of Red Hat's kernels: if {} is not among "
                  "them, use --source nvidia",
                  planning.facts.kernel.release));
  // Its package of modules recommends the plugin; hosts without weak dependencies lack it.
  planning.plan.notes.emplace_back(
      "a later kernel has no driver until NVIDIA has built modules for it: dnf-plugin-nvidia holds "
      "back kernels without modules (dnf nvidia-plugin lists them); once another "
      "kernel without modules runs: kgpu driver install --kernel RELEASE");
  return OkStatus();
}

std::string_view PageOf(host::Family family) {
  switch (family) {
    case host::Family::kFedora:
      return pages::kFedora;
    case host::Family::kAmazon:
      return pages::kAmazon;
    default:
      return pages::kRhel;
  }
}

Status CheckServed(const Planning& planning) {
  const host::Distribution& distribution = planning.facts.distribution;
  const bool is_nvidia = planning.choice.source == SourceKind::kNvidia;
  if (distribution.family == host::Family::kFedora && !is_nvidia) {
    return NotServed(planning, "nvidia");
  }
  if (distribution.family == host::Family::kAmazon && (!is_nvidia || distribution.major < 2023)) {
    return NotServed(planning, "NVIDIA's installer, FILE.run");
  }
  if (distribution.family == host::Family::kRhel && distribution.major < 8) {
    return FailedPrecondition(
        "{}: NVIDIA no longer provides packages for it: use --source FILE.run", distribution.name);
  }
  return OkStatus();
}

}  // namespace

Status AddRhelSteps(Planning& planning) {
  RETURN_IF_ERROR(CheckServed(planning));
  const Choice& choice = planning.choice;
  const std::string_view page = PageOf(planning.facts.distribution.family);
  planning.traits.page = page;
  planning.traits.has_fabric_manager = HasFabric(planning.facts);
  AddDnfRepository(planning, page);
  if (choice.source == SourceKind::kPrecompiled) {
    return AddPrecompiled(planning);
  }
  AddDkmsSources(planning);
  AddDnfHeaders(planning, page);
  // Before streams and locks: on the way back the old packages are available again.
  AddMigration(planning);
  if (HasStreams(planning.facts)) {
    const std::string_view end = choice.kind == ModuleKind::kOpen ? "open" : "dkms";
    AddModuleStream(planning, fmt::format("{}-{}", choice.branch(), end), page);
  } else {
    AddVersionLock(planning);
  }
  AddStep(planning.plan, "packages", "install the driver", page,
          InstallPackages{DnfPackages(planning)});
  return OkStatus();
}

}  // namespace kgpu::driver
