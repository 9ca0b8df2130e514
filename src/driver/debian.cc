// Debian's own packages, and NVIDIA's repository for Debian.
#include <algorithm>
#include <iterator>
#include <map>

#include <fmt/format.h>

#include "src/base/strings.h"
#include "src/driver/common_steps.h"
#include "src/driver/pages.h"

namespace kgpu::driver {
namespace {

constexpr std::string_view kSourcesFile = "/etc/apt/sources.list.d/kgpu-nvidia.sources";

// The components that hold the driver, its open modules and its firmware (a component of its own
// from Debian 12 on).
std::vector<std::string> WantedComponents(unsigned major) {
  std::vector<std::string> wanted = {"contrib", "non-free"};
  if (major >= 12 || major == 0) {
    wanted.emplace_back("non-free-firmware");
  }
  return wanted;
}

struct Repository {
  std::string uri;
  std::string suite;
  std::string signed_by;
  auto operator<=>(const Repository&) const = default;
};

// The archive's repositories of this host, each with the components it lacks.
std::map<Repository, std::vector<std::string>> MissingComponents(const HostFacts& facts) {
  std::map<Repository, std::vector<std::string>> has;
  for (const AptSource& source : facts.apt) {
    std::vector<std::string>& components = has[{source.uri, source.suite, source.signed_by}];
    components.insert(components.end(), source.components.begin(), source.components.end());
  }
  std::map<Repository, std::vector<std::string>> missing;
  for (const auto& [repository, components] : has) {
    const bool is_archive = std::ranges::find(components, "main") != components.end() &&
                            repository.suite.starts_with(facts.distribution.codename) &&
                            repository.uri.find("debian") != std::string::npos;
    if (!is_archive) {
      continue;
    }
    std::vector<std::string> lacks;
    for (const std::string& component : WantedComponents(facts.distribution.major)) {
      if (std::ranges::find(components, component) == components.end()) {
        lacks.push_back(component);
      }
    }
    if (!lacks.empty()) {
      missing[repository] = std::move(lacks);
    }
  }
  return missing;
}

void AddArchiveComponents(const HostFacts& facts, Plan& plan) {
  std::string text = "# Written by kgpu: the parts of Debian that hold NVIDIA's driver.\n";
  const auto missing = MissingComponents(facts);
  for (const auto& [repository, components] : missing) {
    fmt::format_to(std::back_inserter(text), "\nTypes: deb\nURIs: {}\nSuites: {}\nComponents: {}\n",
                   repository.uri, repository.suite, Join(components, " "));
    if (!repository.signed_by.empty()) {
      fmt::format_to(std::back_inserter(text), "Signed-By: {}\n", repository.signed_by);
    }
  }
  if (!missing.empty()) {
    AddStep(plan, "package-sources", "add the components that hold the driver",
            pages::kDebianSources, WriteFile{.path = std::string(kSourcesFile), .text = text});
  }
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

}  // namespace

Status AddDebianSteps(const HostFacts& facts, Plan& plan, Traits& traits) {
  const std::string found = facts.Program("apt-get");
  const std::string apt = found.empty() ? "/usr/bin/apt-get" : found;
  if (plan.source != SourceKind::kDistribution) {
    return Unimplemented("--source {} is not served on {}", ToString(plan.source),
                         facts.distribution.name);
  }
  traits.page = pages::kDebianWiki;
  AddArchiveComponents(facts, plan);
  AddCommand(plan, "package-lists", "read the lists of packages anew", pages::kDebianWiki,
             {apt, "update"});
  AddStep(plan, "headers", "install the headers of the kernel", pages::kDebianWiki,
          InstallPackages{{fmt::format("linux-headers-{}", facts.kernel.release)}});
  AddStep(plan, "packages", "install the driver", pages::kDebianWiki,
          InstallPackages{ArchivePackages(plan.kind)});
  return OkStatus();
}

}  // namespace kgpu::driver
