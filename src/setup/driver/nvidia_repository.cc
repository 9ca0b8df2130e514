#include "src/setup/driver/nvidia_repository.h"

#include <fmt/format.h>

namespace kgpu::driver {
namespace {

// From here on names of packages have no branch in them; before that it is the branch's own.
constexpr unsigned kUnversionedFabric = 580;
constexpr unsigned kUnversionedUbuntu = 590;

// "-580.95.05" if one version is requested, not a branch.
std::string DnfPin(const Planning& planning) {
  return planning.choice.is_whole() ? fmt::format("-{}", planning.choice.version) : "";
}

// Packages that connect GPUs; all but the subnet manager and its tools have the driver's exact
// version. `after` follows the names of those that do.
void AddFabricPackages(const Planning& planning, const std::string& manager, std::string_view after,
                       std::vector<std::string>& names) {
  const HostFacts& facts = planning.facts;
  if (HasFabric(facts)) {
    names.push_back(fmt::format("{}{}", manager, after));
  }
  if (HasNvLink5(facts)) {
    names.insert(names.end(), {"nvlsm", "infiniband-diags"});
    // It is made for no other, and SUSE's repositories have it not.
    if (facts.arch == "x86_64" && facts.distribution.family != host::Family::kSuse) {
      names.push_back(fmt::format("libnvsdm{}", after));
    }
  }
  if (HasRackLinks(facts)) {
    names.push_back(fmt::format("nvidia-imex{}", after));
  }
}

std::string SuseTag(const host::Distribution& distribution) {
  if (distribution.major >= 16) {  // Tumbleweed's version is a date
    return "suse16";
  }
  return fmt::format("{}{}", distribution.id.starts_with("opensuse") ? "opensuse" : "sles",
                     distribution.major);
}

std::vector<std::string> UbuntuRepositoryPackages(const Planning& planning) {
  const unsigned branch = planning.choice.branch();
  const std::string_view open = planning.choice.kind == ModuleKind::kOpen ? "-open" : "";
  if (branch >= kUnversionedUbuntu) {
    return {fmt::format("nvidia-dkms{}", open),
            "libnvidia-compute",
            "libnvidia-cfg1",
            "libnvidia-encode",
            "libnvidia-decode",
            "nvidia-modprobe",
            "nvidia-persistenced"};
  }
  return {fmt::format("nvidia-dkms-{}{}", branch, open),
          fmt::format("nvidia-headless-no-dkms-{}{}", branch, open),
          fmt::format("libnvidia-compute-{}", branch),
          fmt::format("libnvidia-encode-{}", branch),
          fmt::format("libnvidia-decode-{}", branch),
          fmt::format("nvidia-utils-{}", branch),
          fmt::format("nvidia-compute-utils-{}", branch),
          "nvidia-modprobe"};
}

}  // namespace

std::string RepositoryTag(const host::Distribution& distribution) {
  switch (distribution.family) {
    case host::Family::kDebian:
      return fmt::format("debian{}", distribution.major);
    case host::Family::kUbuntu:
      return fmt::format("ubuntu{}{:02}", distribution.major, distribution.minor);
    case host::Family::kRhel:
      return fmt::format("rhel{}", distribution.major);
    case host::Family::kFedora:
      return fmt::format("fedora{}", distribution.major);
    case host::Family::kAmazon:
      return fmt::format("amzn{}", distribution.major);
    case host::Family::kSuse:
      return SuseTag(distribution);
    default:
      break;
  }
  return distribution.id;
}

std::string RepositoryUrl(const HostFacts& facts) {
  return fmt::format("https://developer.download.nvidia.com/compute/cuda/repos/{}/{}",
                     RepositoryTag(facts.distribution),
                     facts.arch == "aarch64" ? "sbsa" : facts.arch);
}

std::vector<std::string> AptPackages(const Planning& planning) {
  const unsigned branch = planning.choice.branch();
  const std::string after =
      branch >= kUnversionedFabric ? std::string() : fmt::format("-{}", branch);
  std::vector<std::string> names;
  if (planning.facts.distribution.family == host::Family::kUbuntu) {
    names = UbuntuRepositoryPackages(planning);
    if (HasNvLink5(planning.facts)) {  // InfiniBand is not in the kernel's own package of modules
      names.push_back(fmt::format("linux-modules-extra-{}", planning.facts.kernel.release));
    }
  } else {
    names = {planning.choice.kind == ModuleKind::kOpen ? "nvidia-kernel-open-dkms"
                                                       : "nvidia-kernel-dkms",
             "nvidia-driver-cuda", "nvidia-modprobe", "nvidia-persistenced"};
  }
  AddFabricPackages(planning, "nvidia-fabricmanager", after, names);
  return names;
}

std::vector<std::string> DnfPackages(const Planning& planning) {
  const std::string pin = DnfPin(planning);
  const bool is_open = planning.choice.kind == ModuleKind::kOpen;
  std::vector<std::string> names = {
      fmt::format("{}{}", is_open ? "kmod-nvidia-open-dkms" : "kmod-nvidia-latest-dkms", pin)};
  AddDnfUserSpace(planning, names);
  return names;
}

void AddDnfUserSpace(const Planning& planning, std::vector<std::string>& names) {
  const std::string pin = DnfPin(planning);
  for (const char* name : {"nvidia-driver-cuda", "nvidia-modprobe", "nvidia-persistenced"}) {
    names.push_back(fmt::format("{}{}", name, pin));
  }
  AddFabricPackages(planning,
                    planning.choice.branch() >= kUnversionedFabric ? "nvidia-fabricmanager"
                                                                   : "nvidia-fabric-manager",
                    pin, names);
}

std::vector<std::string> FabricPackages(const Planning& planning, std::string_view after) {
  std::vector<std::string> names;
  AddFabricPackages(planning, "nvidia-fabricmanager", after, names);
  return names;
}

}  // namespace kgpu::driver
