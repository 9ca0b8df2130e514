// Debian's own packages, and NVIDIA's repository for Debian.
#include <algorithm>

#include <fmt/format.h>

#include "src/setup/driver/apt_steps.h"
#include "src/setup/driver/nvidia_repository.h"
#include "src/setup/driver/pages.h"

namespace kgpu::driver {
namespace {

// The components that hold the driver, its open modules and its firmware (a component of its own
// from Debian 12 on).
std::vector<std::string> WantedComponents(unsigned major) {
  std::vector<std::string> wanted = {"contrib", "non-free"};
  if (major >= 12) {
    wanted.emplace_back("non-free-firmware");
  }
  return wanted;
}

// The release's own daemon serves an older branch as well, with that one's library.
std::vector<std::string> OlderPackages(const std::string& infix) {
  return {fmt::format("nvidia{}-kernel-dkms", infix),
          fmt::format("libnvidia{}-cuda1", infix),
          fmt::format("libnvidia{}-ml1", infix),
          fmt::format("libnvidia{}-encode1", infix),
          fmt::format("libnvidia{}-nvcuvid1", infix),
          fmt::format("libnvidia{}-cfg1", infix),
          fmt::format("nvidia{}-smi", infix),
          "nvidia-modprobe",
          "nvidia-persistenced"};
}

std::vector<std::string> ArchivePackages(ModuleKind kind) {
  return {kind == ModuleKind::kOpen ? "nvidia-open-kernel-dkms" : "nvidia-kernel-dkms",
          "libcuda1",
          "libnvidia-ml1",
          "libnvidia-encode1",
          "libnvcuvid1",
          "nvidia-smi",
          "nvidia-modprobe",
          "nvidia-persistenced"};
}

// NVIDIA's repository has packages of the same names, newer ones, and its keyring prefers them.
bool HasNvidiaRepository(const HostFacts& facts) {
  return facts.HasPackage("cuda-keyring") ||
         std::ranges::any_of(facts.apt, [](const AptSource& source) {
           return source.uri.find("/compute/cuda/") != std::string::npos;
         });
}

Status AddDebianPackages(Planning& planning) {
  planning.traits.page = pages::kDebianWiki;
  AddArchiveComponents(planning, WantedComponents(planning.facts.distribution.major),
                       pages::kDebianSources);
  AddPackageLists(planning, pages::kDebianWiki);
  AddAptHeaders(planning, pages::kDebianWiki);
  AddMigration(planning);
  if (HasNvidiaRepository(planning.facts)) {
    AddOwnPreference(planning);
  }
  const std::string infix = DebianInfix(planning);
  AddStep(planning.plan, "packages", "install the driver", pages::kDebianWiki,
          InstallPackages{infix.empty() ? ArchivePackages(planning.choice.kind)
                                        : OlderPackages(infix)});
  return OkStatus();
}

Status AddNvidiaDebianPackages(Planning& planning) {
  planning.traits.page = pages::kDebian;
  planning.traits.has_fabric_manager = HasFabric(planning.facts);
  AddArchiveComponents(planning, {"contrib"}, pages::kDebian);
  AddPackageLists(planning, pages::kDebian);
  AddAptHeaders(planning, pages::kDebian);
  AddAptRepository(planning, pages::kDebian);
  AddCommand(planning.plan, "repository-lists", "read the list of NVIDIA's packages",
             pages::kDebian, {ProgramOr(planning.facts, "apt-get", "/usr/bin/apt-get"), "update"});
  AddMigration(planning);
  AddAptBranch(planning);
  AddStep(planning.plan, "packages", "install the driver", pages::kDebian,
          InstallPackages{AptPackages(planning)});
  return OkStatus();
}

}  // namespace

Status AddDebianSteps(Planning& planning) {
  switch (planning.choice.source) {
    case SourceKind::kDistribution:
      return AddDebianPackages(planning);
    case SourceKind::kNvidia:
      return AddNvidiaDebianPackages(planning);
    default:
      return Unimplemented("--source {} is not served on {}: take distribution or nvidia",
                           ToString(planning.choice.source), planning.facts.distribution.name);
  }
}

}  // namespace kgpu::driver
