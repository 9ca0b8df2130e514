#include "src/driver/nvidia_repository.h"

#include <fmt/format.h>

namespace kgpu::driver {
namespace {

// From here on names of packages have no branch in them; before that it is the branch's own.
constexpr unsigned kUnversionedFabric = 580;
constexpr unsigned kUnversionedUbuntu = 590;

// "=580.95.05*" or "-580.95.05*" where one version is asked for, not a branch.
std::string Pin(const Planning& planning, std::string_view before) {
  const std::string& version = planning.choice.version;
  const bool is_whole = version.find('.') != std::string::npos;
  return is_whole ? fmt::format("{}{}*", before, version) : "";
}

void AddFabricPackages(const Planning& planning, const std::string& manager,
                       std::vector<std::string>& names) {
  if (!HasFabric(planning.facts)) {
    return;
  }
  names.push_back(manager);
  if (HasNvLink5(planning.facts)) {
    names.insert(names.end(), {"nvlsm", "infiniband-diags", "libnvsdm"});
  }
}

}  // namespace

std::string RepositoryTag(const Distribution& distribution) {
  switch (distribution.family) {
    case Family::kDebian:
      return fmt::format("debian{}", distribution.major);
    case Family::kUbuntu:
      return fmt::format("ubuntu{}{:02}", distribution.major, distribution.minor);
    case Family::kRhel:
      return fmt::format("rhel{}", distribution.major);
    case Family::kFedora:
      return fmt::format("fedora{}", distribution.major);
    case Family::kAmazon:
      return fmt::format("amzn{}", distribution.major);
    case Family::kSuse:
      return fmt::format("{}{}", distribution.id.starts_with("opensuse") ? "opensuse" : "sles",
                         distribution.major);
    case Family::kOther:
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
  const bool is_open = planning.choice.kind == ModuleKind::kOpen;
  const std::string pin = Pin(planning, "=");
  std::vector<std::string> names;
  if (planning.facts.distribution.family == Family::kUbuntu && branch < kUnversionedUbuntu) {
    names = {fmt::format("nvidia-dkms-{}{}{}", branch, is_open ? "-open" : "", pin),
             fmt::format("nvidia-headless-no-dkms-{}{}{}", branch, is_open ? "-open" : "", pin),
             fmt::format("libnvidia-compute-{}{}", branch, pin),
             fmt::format("libnvidia-encode-{}{}", branch, pin),
             fmt::format("libnvidia-decode-{}{}", branch, pin),
             fmt::format("nvidia-utils-{}{}", branch, pin),
             fmt::format("nvidia-compute-utils-{}{}", branch, pin),
             "nvidia-modprobe"};
  } else {
    names = {is_open ? "nvidia-kernel-open-dkms" : "nvidia-kernel-dkms", "nvidia-driver-cuda",
             "nvidia-modprobe", "nvidia-persistenced"};
  }
  AddFabricPackages(planning,
                    branch >= kUnversionedFabric ? "nvidia-fabricmanager"
                                                 : fmt::format("nvidia-fabricmanager-{}", branch),
                    names);
  return names;
}

std::vector<std::string> DnfPackages(const Planning& planning) {
  const std::string pin = Pin(planning, "-");
  const bool is_open = planning.choice.kind == ModuleKind::kOpen;
  std::vector<std::string> names = {
      fmt::format("{}{}", is_open ? "kmod-nvidia-open-dkms" : "kmod-nvidia-latest-dkms", pin),
      fmt::format("nvidia-driver-cuda{}", pin), "nvidia-modprobe", "nvidia-persistenced"};
  AddFabricPackages(planning,
                    planning.choice.branch() >= kUnversionedFabric ? "nvidia-fabricmanager"
                                                                   : "nvidia-fabric-manager",
                    names);
  return names;
}

}  // namespace kgpu::driver
