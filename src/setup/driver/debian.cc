// Debian's own packages, and NVIDIA's repository for Debian.
#include <algorithm>

#include <fmt/format.h>

#include "src/setup/driver/apt_steps.h"
#include "src/setup/driver/pages.h"

namespace kgpu::driver {
namespace {

// The components with the driver, its open modules and its firmware (a component of its own from
// Debian 12 on).
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

void AddDebianPackages(Planning& planning) {
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
}

}  // namespace

Status AddDebianSteps(Planning& planning) {
  switch (planning.choice.source) {
    case SourceKind::kDistribution:
      AddDebianPackages(planning);
      return OkStatus();
    case SourceKind::kNvidia:
      AddArchiveComponents(planning, {"contrib"}, pages::kDebian);
      AddNvidiaAptPackages(planning, pages::kDebian);
      return OkStatus();
    default:
      return NotServed(planning, "distribution or nvidia");
  }
}

}  // namespace kgpu::driver
