// Ubuntu's own packages, whose modules come built and signed for its kernels, and NVIDIA's
// repository for Ubuntu.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "src/base/strings.h"
#include "src/driver/apt_steps.h"
#include "src/driver/nvidia_repository.h"
#include "src/driver/offers.h"
#include "src/driver/pages.h"

namespace kgpu::driver {
namespace {

// "generic", "aws", or as the installed kernel package has it: "generic-hwe-22.04".
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

// What follows the branch in a name: "" of "libnvidia-compute-580", "-server-open" of
// "linux-modules-nvidia-535-server-open-generic" and the like. Nothing: no branch is in it.
struct BranchInName {
  unsigned branch = 0;
  bool is_server = false;
};

std::optional<BranchInName> BranchIn(std::string_view name) {
  if (name.find("nvidia") == std::string_view::npos ||
      name.find("pinning") != std::string_view::npos) {
    return std::nullopt;
  }
  const std::vector<std::string_view> words = Split(name, '-');
  for (size_t i = 1; i < words.size(); ++i) {
    const auto number = ParseUint(words[i]);
    if (number && words[i].size() == 3) {
      return BranchInName{.branch = static_cast<unsigned>(*number),
                          .is_server = i + 1 < words.size() && words[i + 1] == "server"};
    }
  }
  return std::nullopt;
}

// Packages of two branches exclude each other, and those of Ubuntu's and NVIDIA's of one branch.
void AddMigration(Planning& planning) {
  const HostFacts& facts = planning.facts;
  const bool is_own = planning.choice.source != SourceKind::kNvidia;
  const std::string apt = ProgramOr(facts, "apt-get", "/usr/bin/apt-get");
  std::vector<std::string> remove = {apt, "-y", "remove"};
  std::vector<std::string> restore = {apt, "-y", "--no-install-recommends", "install"};
  const size_t fixed = remove.size();
  for (const auto& [name, package] : facts.packages) {
    const std::optional<BranchInName> found = BranchIn(name);
    // Fabric manager and others that serve both have no "server" in their names.
    const bool is_shared = name.starts_with("nvidia-fabricmanager") ||
                           name.starts_with("libnvidia-nscq") || name.starts_with("nvidia-imex");
    if (found &&
        (found->branch != planning.choice.branch() || (found->is_server != is_own && !is_shared))) {
      remove.push_back(name);
      restore.push_back(fmt::format("{}={}", name, package.version));
    }
  }
  if (remove.size() > fixed) {
    AddCommand(planning.plan, "other-branch", "take off packages that exclude the new ones",
               planning.traits.page, std::move(remove), std::move(restore));
  }
}

Status AddOwnPackages(Planning& planning) {
  const HostFacts& facts = planning.facts;
  const bool is_built = HasUbuntuModules(facts);
  planning.traits.page = pages::kUbuntuServer;
  planning.traits.is_dkms = !is_built;
  planning.traits.is_signed = is_built;
  planning.traits.mok_key = "/var/lib/shim-signed/mok/MOK.der";
  planning.traits.has_fabric_manager = HasFabric(facts);
  AddArchiveComponents(planning, {"restricted", "multiverse"}, pages::kUbuntuServer);
  AddPackageLists(planning, pages::kUbuntuServer);
  if (!is_built) {
    planning.plan.notes.push_back(fmt::format(
        "Ubuntu builds no modules for kernel {}: DKMS builds them here", facts.kernel.release));
    AddAptHeaders(planning, pages::kUbuntuServer);
  }
  AddMigration(planning);
  AddStep(planning.plan, "modules", "install the kernel modules", pages::kUbuntuServer,
          InstallPackages{ModulePackages(planning)});
  AddStep(planning.plan, "packages", "install the driver's user space", pages::kUbuntuServer,
          InstallPackages{UserPackages(planning)});
  return OkStatus();
}

Status AddNvidiaPackages(Planning& planning) {
  planning.traits.page = pages::kUbuntu;
  planning.traits.mok_key = "/var/lib/shim-signed/mok/MOK.der";
  planning.traits.has_fabric_manager = HasFabric(planning.facts);
  AddPackageLists(planning, pages::kUbuntu);
  AddAptHeaders(planning, pages::kUbuntu);
  AddAptRepository(planning, pages::kUbuntu);
  AddCommand(planning.plan, "repository-lists", "read the list of NVIDIA's packages",
             pages::kUbuntu, {ProgramOr(planning.facts, "apt-get", "/usr/bin/apt-get"), "update"});
  AddAptBranch(planning);
  AddMigration(planning);
  AddStep(planning.plan, "packages", "install the driver", pages::kUbuntu,
          InstallPackages{AptPackages(planning)});
  return OkStatus();
}

}  // namespace

Status AddUbuntuSteps(Planning& planning) {
  switch (planning.choice.source) {
    case SourceKind::kDistribution:
    case SourceKind::kPrecompiled:
      return AddOwnPackages(planning);
    case SourceKind::kNvidia:
      return AddNvidiaPackages(planning);
    default:
      return Unimplemented("--source {} is not served on {}: take distribution or nvidia",
                           ToString(planning.choice.source), planning.facts.distribution.name);
  }
}

}  // namespace kgpu::driver
