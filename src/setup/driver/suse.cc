// SUSE Linux Enterprise and openSUSE: modules that SUSE builds and signs, or NVIDIA's for DKMS; the
// user space from NVIDIA.
#include <algorithm>

#include <fmt/format.h>

#include "src/setup/driver/nvidia_repository.h"
#include "src/setup/driver/pages.h"

namespace kgpu::driver {
namespace {

struct Source {
  std::string name;  // of the repository
  std::string url;
};

Source SourceOf(const HostFacts& facts, SourceKind kind) {
  const host::Distribution& distribution = facts.distribution;
  if (kind != SourceKind::kDistribution) {
    const std::string tag = RepositoryTag(distribution);
    return {fmt::format("cuda-{}-{}", tag, facts.arch), RepositoryUrl(facts)};
  }
  if (distribution.id == "opensuse-tumbleweed") {
    return {"nvidia", "https://download.nvidia.com/opensuse/tumbleweed"};
  }
  if (distribution.id.starts_with("opensuse")) {
    return {"nvidia",
            fmt::format("https://download.nvidia.com/opensuse/leap/{}", distribution.version)};
  }
  std::string release = fmt::format("{}sp{}", distribution.major, distribution.minor);
  if (distribution.major >= 16) {
    release = distribution.minor == 0
                  ? fmt::format("{}", distribution.major)
                  : fmt::format("{}.{}", distribution.major, distribution.minor);
  }
  return {fmt::format("nvidia-sle{}", release),
          fmt::format("https://download.nvidia.com/suse/sle{}", release)};
}

// Only ours is read again and its key trusted: what is wrong with others is no matter here.
void AddRepository(Planning& planning, const Source& source, const std::string& zypper) {
  const std::vector<RpmRepository>& all = planning.facts.repositories;
  const auto is_it = [&source](const RpmRepository& one) {
    return one.url.starts_with(source.url) || one.id == source.name;
  };
  const auto is_on = [&is_it](const RpmRepository& one) { return is_it(one) && one.is_enabled; };
  auto here = std::ranges::find_if(all, is_on);
  std::string alias = source.name;
  if (here != all.end()) {
    alias = here->id;
  } else if (here = std::ranges::find_if(all, is_it); here != all.end()) {
    alias = here->id;
    AddCommand(planning.plan, "repository", "enable NVIDIA's repository", pages::kSuseOpen,
               {zypper, "--non-interactive", "modifyrepo", "--enable", alias},
               {zypper, "--non-interactive", "modifyrepo", "--disable", alias});
  } else {
    AddCommand(planning.plan, "repository", "add NVIDIA's repository", pages::kSuseOpen,
               {zypper, "--non-interactive", "addrepo", "--refresh", source.url, source.name},
               {zypper, "--non-interactive", "removerepo", source.name});
  }
  AddCommand(planning.plan, "package-lists", "update its package list", pages::kSuseOpen,
             {zypper, "--non-interactive", "--gpg-auto-import-keys", "refresh", alias});
}

// Packages of branches up to 580 have G06 in their names, those of later ones G07.
std::string_view GenerationOf(unsigned branch) {
  return branch >= 590 ? "G07" : "G06";
}

// Packages of two generations, or kinds, exclude each other, and zypper is not to choose which ones
// go; of another version they are all of that, so that the way back has them.
bool IsOfOther(const Planning& planning, std::string_view name) {
  const bool is_g07 = GenerationOf(planning.choice.branch()) == "G07";
  const bool is_open = planning.choice.kind == ModuleKind::kOpen;
  return name.starts_with("nvidia") &&
         (name.find(is_g07 ? "G06" : "G07") != std::string_view::npos ||
          name.starts_with(is_open ? "nvidia-driver-G" : "nvidia-open-driver-G"));
}

void AddGeneration(Planning& planning) {
  const HostFacts& facts = planning.facts;
  bool is_other = facts.existing == Existing::kPackages && !facts.existing_version.empty() &&
                  !IsVersion(facts.existing_version, planning.choice.version);
  std::vector<std::string> names;
  for (const auto& [name, package] : facts.packages) {
    is_other |= IsOfOther(planning, name);
    const bool is_driver = name.starts_with("nvidia") || name.starts_with("libnvidia");
    if (is_driver && name.find("container") == std::string::npos) {
      names.push_back(name);
    }
  }
  if (is_other && !names.empty()) {
    AddRemoval(planning, "other-generation", pages::kSuseOpen, std::move(names));
  }
}

std::string ModulePackage(const Planning& planning) {
  const std::string_view generation = GenerationOf(planning.choice.branch());
  if (planning.choice.kind == ModuleKind::kProprietary) {
    return fmt::format("nvidia-driver-{}", generation);
  }
  const std::string& flavour = planning.facts.kernel.flavour;
  return fmt::format("nvidia-open-driver-{}-signed{}-kmp-{}", generation,
                     planning.choice.source == SourceKind::kDistribution ? "" : "-cuda",
                     flavour.empty() ? "default" : flavour);
}

// The user space must be of the modules' very version, which is known from the modules on only.
void AddUserSpace(Planning& planning, const std::string& module) {
  const std::string_view generation = GenerationOf(planning.choice.branch());
  std::vector<std::string> names = {fmt::format("nvidia-compute-utils-{}", generation),
                                    "nvidia-persistenced"};
  if (planning.has_display) {
    names.push_back(fmt::format("nvidia-video-{}", generation));
    names.push_back(fmt::format("nvidia-gl-{}", generation));
  }
  std::vector<std::string> others;
  for (std::string& name : FabricPackages(planning, "=")) {
    const bool has_version = name.ends_with('=');
    name.resize(name.size() - (has_version ? 1 : 0));
    (has_version ? names : others).push_back(std::move(name));
  }
  AddStep(planning.plan, "packages", "install the user space of the same version",
          planning.traits.page, InstallPackages{.names = std::move(names), .version_of = module});
  if (!others.empty()) {
    AddStep(planning.plan, "fabric-packages", "install the fabric manager", planning.traits.page,
            InstallPackages{.names = std::move(others)});
  }
}

}  // namespace

void AddSuseHeaders(Planning& planning, std::vector<std::string> more) {
  const HostFacts& facts = planning.facts;
  const std::string flavour = facts.kernel.flavour.empty() ? "default" : facts.kernel.flavour;
  std::string release = facts.kernel.release;
  if (const std::string end = fmt::format("-{}", flavour); release.ends_with(end)) {
    release.resize(release.size() - end.size());
  }
  more.push_back(fmt::format("kernel-{}-devel={}", flavour, release));
  AddStep(planning.plan, "headers", "install the kernel headers", pages::kPreInstall,
          InstallPackages{std::move(more)});
}

Status AddSuseSteps(Planning& planning) {
  const bool is_open = planning.choice.kind == ModuleKind::kOpen;
  const std::string zypper = ProgramOr(planning.facts, "zypper", "/usr/bin/zypper");
  planning.traits.page =
      planning.choice.source == SourceKind::kDistribution ? pages::kSuseOpen : pages::kSuse;
  planning.traits.is_dkms = !is_open;
  planning.traits.is_signed = is_open;
  planning.traits.has_fabric_manager =
      planning.choice.source != SourceKind::kDistribution && HasFabric(planning.facts);
  AddRepository(planning, SourceOf(planning.facts, planning.choice.source), zypper);
  AddGeneration(planning);
  if (!is_open) {
    AddSuseHeaders(planning, {});
  }
  const std::string module = ModulePackage(planning);
  AddStep(planning.plan, "modules", "install the kernel modules", pages::kSuseOpen,
          InstallPackages{{fmt::format("{}<{}", module, planning.choice.end())}});
  AddUserSpace(planning, module);
  return OkStatus();
}

}  // namespace kgpu::driver
