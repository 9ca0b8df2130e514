#include "src/host/facts/kernel_packages.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "src/platform/base/ascii.h"
#include "src/platform/base/strings.h"

namespace kgpu::host {
namespace {

constexpr std::string_view kImage = "linux-image-";

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// "proxmox-headers-R" of "proxmox-kernel-R-signed", "linux-headers-R" of "linux-image-unsigned-R";
// empty: no name of an image.
std::string HeadersOfImage(std::string_view name, std::string_view release) {
  const std::string_view before = name.substr(0, name.find(release));
  for (const std::string_view word : {"-image-", "-kernel-"}) {
    if (const size_t at = before.find(word); at != std::string_view::npos) {
      return fmt::format("{}-headers-{}", before.substr(0, at), release);
    }
  }
  return "";
}

std::string AptHeaders(std::string_view release, const Packages& packages) {
  std::string by_image;
  for (const auto& [name, package] : packages) {
    if (!Contains(name, release)) {
      continue;
    }
    if (Contains(name, "-headers-") && name.ends_with(release)) {
      return name;
    }
    by_image = by_image.empty() ? HeadersOfImage(name, release) : by_image;
  }
  if (by_image.empty()) {
    by_image =
        fmt::format("{}-headers-{}", release.ends_with("-pve") ? "proxmox" : "linux", release);
  }
  return by_image;
}

// "kernel-ml" of "kernel-ml", "kernel-ml-core" and the like; empty: no package of a kernel's image
// or modules.
std::string StemOf(std::string_view name) {
  for (const std::string_view end :
       {"-modules-core", "-modules-extra", "-modules", "-core", "-devel"}) {
    if (name.ends_with(end)) {
      name.remove_suffix(end.size());
      break;
    }
  }
  constexpr std::array<std::string_view, 6> kOthers = {"headers", "tools",   "doc",
                                                       "debug",   "matched", "firmware"};
  const bool is_other =
      std::ranges::any_of(kOthers, [name](std::string_view word) { return Contains(name, word); });
  return name.starts_with("kernel") && !is_other ? std::string(name) : std::string();
}

// By the installed packages of exactly this version.
std::string InstalledStem(std::string_view release, const Packages& packages) {
  const std::string_view version = release.substr(0, release.rfind('.'));  // without architecture
  for (const auto& [name, package] : packages) {
    if (std::string stem = StemOf(name); !stem.empty() && package.version == version) {
      return stem;
    }
  }
  return "";
}

// "MAJOR.MINOR" of a release.
std::string_view SeriesOf(std::string_view release) {
  return release.substr(0, release.find('.', release.find('.') + 1));
}

// Whether linux-image-`series` brings kernels of `flavour`: "generic" and "generic-hwe-24.04" those
// of "generic", and "virtual" does, too.
bool IsSeriesOf(std::string_view series, std::string_view flavour) {
  if (flavour == "generic" && series.starts_with("virtual")) {
    return IsSeriesOf(fmt::format("generic{}", series.substr(std::string_view("virtual").size())),
                      flavour);
  }
  if (!series.starts_with(flavour)) {
    return false;
  }
  const std::string_view rest = series.substr(flavour.size());
  return rest.empty() || rest.starts_with("-hwe-") || rest.starts_with("-lts-");
}

// Proxmox's: "proxmox-default-kernel", "proxmox-kernel-6.8", "pve-kernel-6.2"; empty: none of them.
std::string FollowingOfProxmox(std::string_view name, std::string_view release) {
  if (name == "proxmox-default-kernel") {
    return "proxmox-default-headers";
  }
  for (const std::string_view start : {"proxmox", "pve"}) {
    if (name == fmt::format("{}-kernel-{}", start, SeriesOf(release))) {
      return fmt::format("{}-headers-{}", start, SeriesOf(release));
    }
  }
  return "";
}

}  // namespace

RpmKernel RpmKernelOf(const Distribution& distribution, std::string_view release,
                      const Packages& packages) {
  if (const size_t plus = release.find('+'); plus != std::string_view::npos) {
    return {fmt::format("kernel-{}", release.substr(plus + 1)),
            std::string(release.substr(0, plus))};
  }
  if (std::string stem = InstalledStem(release, packages); !stem.empty()) {
    return {std::move(stem), std::string(release)};
  }
  std::string stem = "kernel";
  if (Contains(release, "uek")) {
    stem = "kernel-uek";  // Oracle's own
  } else if (Contains(release, ".elrepo")) {
    stem = "kernel-ml";
  } else if (distribution.family == Family::kRhel && Contains(release, ".rt")) {
    stem = "kernel-rt";
  } else if (distribution.family == Family::kAmazon && !release.starts_with("6.1.")) {
    // Amazon's newer kernels are packages of their own: kernel6.12.
    stem = fmt::format("kernel{}", SeriesOf(release));
  }
  return {std::move(stem), std::string(release)};
}

std::string HeadersPackage(const Distribution& distribution, std::string_view release,
                           const Packages& packages) {
  const Family family = distribution.family;
  if (family != Family::kDebian && family != Family::kUbuntu && family != Family::kOther) {
    const RpmKernel kernel = RpmKernelOf(distribution, release, packages);
    return fmt::format("{}-devel-{}", kernel.stem, kernel.release);
  }
  return AptHeaders(release, packages);
}

std::vector<std::string> FollowingHeaders(std::string_view release, std::string_view flavour,
                                          const Packages& packages) {
  std::vector<std::string> names;
  for (const auto& [name, package] : packages) {
    if (!flavour.empty() && name.starts_with(kImage) &&
        IsSeriesOf(std::string_view(name).substr(kImage.size()), flavour)) {
      names.push_back(fmt::format("linux-headers-{}", name.substr(kImage.size())));
    } else if (std::string proxmox = FollowingOfProxmox(name, release);
               !proxmox.empty() && release.ends_with("-pve")) {
      names.push_back(std::move(proxmox));
    }
  }
  return names;
}

bool IsNumberedAsUbuntus(std::string_view release) {
  constexpr size_t kMostDigits = 4;
  const size_t dash = release.find('-');
  if (dash == std::string_view::npos) {
    return false;
  }
  const std::vector<std::string_view> version = Split(release.substr(0, dash), '.');
  const std::string_view rest = release.substr(dash + 1);
  const std::string_view build = rest.substr(0, rest.find('-'));
  return version.size() == 3 && version[2] == "0" && !build.empty() &&
         build.size() <= kMostDigits && build.front() != '0' && std::ranges::all_of(build, IsDigit);
}

}  // namespace kgpu::host
