// SUSE Linux Enterprise and openSUSE: modules that SUSE builds and signs, user space from NVIDIA.
#include <algorithm>

#include <fmt/format.h>

#include "src/driver/nvidia_repository.h"
#include "src/driver/pages.h"

namespace kgpu::driver {
namespace {

struct Source {
  std::string name;  // of the repository
  std::string url;
};

Source SourceOf(const HostFacts& facts, SourceKind kind) {
  const Distribution& distribution = facts.distribution;
  if (kind == SourceKind::kNvidia) {
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
  const std::string release = distribution.major >= 16
                                  ? fmt::format("{}", distribution.major)
                                  : fmt::format("{}sp{}", distribution.major, distribution.minor);
  return {fmt::format("nvidia-sle{}", release),
          fmt::format("https://download.nvidia.com/suse/sle{}", release)};
}

void AddRepository(Planning& planning, const Source& source, const std::string& zypper) {
  const auto has_url = [&source](const RpmRepository& one) {
    return one.url.starts_with(source.url);
  };
  if (std::ranges::none_of(planning.facts.repositories, has_url)) {
    AddCommand(planning.plan, "repository", "add NVIDIA's repository", pages::kSuseOpen,
               {zypper, "--non-interactive", "addrepo", "--refresh", source.url, source.name},
               {zypper, "--non-interactive", "removerepo", source.name});
  }
  AddCommand(planning.plan, "package-lists", "read the lists of packages anew", pages::kSuseOpen,
             {zypper, "--non-interactive", "--gpg-auto-import-keys", "refresh"});
}

}  // namespace

Status AddSuseSteps(Planning& planning) {
  const HostFacts& facts = planning.facts;
  const bool is_nvidia = planning.choice.source == SourceKind::kNvidia;
  const bool is_open = planning.choice.kind == ModuleKind::kOpen;
  const std::string flavour = facts.kernel.flavour.empty() ? "default" : facts.kernel.flavour;
  const std::string zypper = ProgramOr(facts, "zypper", "/usr/bin/zypper");
  planning.traits.page = is_nvidia ? pages::kSuse : pages::kSuseOpen;
  planning.traits.is_dkms = false;
  planning.traits.is_signed = is_open;
  planning.traits.has_fabric_manager = is_nvidia && HasFabric(facts);
  AddRepository(planning, SourceOf(facts, planning.choice.source), zypper);
  std::string module = fmt::format("nvidia-open-driver-G06-signed-kmp-{}", flavour);
  if (!is_open) {
    // Its package builds the module when it is installed: that takes the headers.
    AddStep(planning.plan, "headers", "install the headers of the kernel", pages::kSuse,
            InstallPackages{{fmt::format("kernel-{}-devel", flavour)}});
    planning.traits.mok_key = "/var/lib/nvidia-pubkeys/MOK-nvidia-driver-*.der";
    module = fmt::format("nvidia-driver-G06-kmp-{}", flavour);
  } else if (is_nvidia) {
    module = fmt::format("nvidia-open-driver-G06-signed-cuda-kmp-{}", flavour);
  }
  AddStep(planning.plan, "modules", "install the kernel modules", planning.traits.page,
          InstallPackages{{module}});
  // The user space must be of the modules' very version, which is known from here on only.
  AddCommand(planning.plan, "packages", "install the user space of the same version",
             planning.traits.page,
             {"/bin/sh", "-c",
              fmt::format("version=$(rpm -q --queryformat '%{{VERSION}}' {} | cut -d_ -f1) && exec "
                          "{} --non-interactive install --auto-agree-with-licenses "
                          "\"nvidia-compute-utils-G06 == $version\" "
                          "\"nvidia-persistenced == $version\"",
                          module, zypper)},
             {zypper, "--non-interactive", "remove", "--clean-deps", "nvidia-compute-utils-G06",
              "nvidia-persistenced"});
  if (HasFabric(facts)) {
    if (is_nvidia) {
      AddStep(planning.plan, "fabric", "install the fabric manager", pages::kFabricManager,
              InstallPackages{{"nvidia-fabricmanager"}});
    } else {
      planning.plan.notes.emplace_back(
          "the fabric manager that NVSwitches need comes from NVIDIA's repository: take "
          "--source nvidia");
    }
  }
  return OkStatus();
}

}  // namespace kgpu::driver
