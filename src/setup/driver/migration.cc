// A driver that came by packages gives way to another version, or to the other kind of modules.
// Package managers are not asked to find out what has to go for that: with names that say no branch
// they would take the old packages for what is wanted, and with others they exclude each other.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "src/host/facts/installed_packages.h"
#include "src/platform/base/strings.h"
#include "src/setup/driver/common_steps.h"
#include "src/setup/driver/dnf_steps.h"

namespace kgpu::driver {
namespace {

// The parts of Ubuntu's package names: "linux-modules-nvidia-535-server-open-generic".
struct UbuntuName {
  unsigned branch = 0;
  bool is_server = false;
};

std::optional<UbuntuName> ParseUbuntuName(std::string_view name) {
  const std::vector<std::string_view> words = Split(name, '-');
  for (size_t i = 1; i < words.size(); ++i) {
    const auto number = ParseUint(words[i]);
    if (number && words[i].size() == 3) {
      return UbuntuName{.branch = static_cast<unsigned>(*number),
                        .is_server = i + 1 < words.size() && words[i + 1] == "server"};
    }
  }
  return std::nullopt;
}

// Packages that hold modules, or ask for those of one kind.
bool IsOfOtherKind(std::string_view name, ModuleKind kind) {
  constexpr std::array<std::string_view, 10> kStarts = {
      "kmod-nvidia-latest-dkms", "kmod-nvidia-open",     "nvidia-kernel-dkms",
      "nvidia-kernel-open-dkms", "nvidia-open-kernel",   "nvidia-dkms",
      "nvidia-headless",         "linux-modules-nvidia", "linux-objects-nvidia",
      "nvidia-kernel-source"};
  const bool has_kind = std::ranges::any_of(
      kStarts, [name](std::string_view start) { return name.starts_with(start); });
  const bool is_open = name.find("-open") != std::string_view::npos;
  return has_kind && is_open != (kind == ModuleKind::kOpen);
}

// Red Hat: modules that DKMS builds and those built for one kernel replace each other.
bool IsOfOtherForm(const Planning& planning, std::string_view name) {
  constexpr std::string_view kStart = "kmod-nvidia-";
  if (planning.facts.distribution.family != host::Family::kRhel || !name.starts_with(kStart)) {
    return false;
  }
  name.remove_prefix(kStart.size());
  const bool is_for_one_kernel = !name.empty() && name[0] >= '0' && name[0] <= '9';
  return is_for_one_kernel != (planning.choice.source == SourceKind::kPrecompiled);
}

// Ubuntu's and NVIDIA's packages of one branch have different names, and conflict.
bool IsOfOtherBranch(const Planning& planning, std::string_view name) {
  if (planning.facts.distribution.family != host::Family::kUbuntu) {
    return false;
  }
  const std::optional<UbuntuName> found = ParseUbuntuName(name);
  const bool is_own = planning.choice.source == SourceKind::kDistribution ||
                      planning.choice.source == SourceKind::kPrecompiled;
  // These serve both, and have no "server" in their names.
  const bool is_shared = name.starts_with("nvidia-fabricmanager") ||
                         name.starts_with("libnvidia-nscq") || name.starts_with("nvidia-imex");
  return found &&
         (found->branch != planning.choice.branch() || (found->is_server != is_own && !is_shared));
}

bool IsOtherPinning(const Planning& planning, std::string_view name) {
  constexpr std::string_view kStart = "nvidia-driver-pinning-";
  return name.starts_with(kStart) && name.substr(kStart.size()) != planning.choice.version;
}

std::vector<std::string> OldPackages(const Planning& planning) {
  const HostFacts& facts = planning.facts;
  const std::string& old = facts.existing_version;
  bool is_other = !old.empty() && !IsVersion(old, planning.choice.version);
  for (const auto& [name, package] : facts.packages) {
    is_other |= IsOfOtherKind(name, planning.choice.kind) || IsOfOtherForm(planning, name);
  }
  std::vector<std::string> names;
  for (const auto& [name, package] : facts.packages) {
    // All that is of the driver has its version.
    const bool is_of_old =
        is_other && !old.empty() && host::UpstreamVersion(package.version) == old;
    if (host::IsDriverPackage(name) &&
        (is_of_old || IsOfOtherKind(name, planning.choice.kind) || IsOfOtherForm(planning, name) ||
         IsOfOtherBranch(planning, name) || IsOtherPinning(planning, name))) {
      names.push_back(name);
    }
  }
  return names;
}

}  // namespace

void AddMigration(Planning& planning) {
  const std::vector<std::string> names = OldPackages(planning);
  if (names.empty() || planning.facts.existing != Existing::kPackages) {
    return;
  }
  AddRemoval(planning, "other-version", planning.traits.page, names);
}

void AddRemoval(Planning& planning, std::string_view id, std::string_view page,
                std::vector<std::string> names) {
  AskForKeyFirst(planning);
  AddStep(planning.plan, id, "remove the packages of the other version or kind", page,
          RemovePackages{.names = std::move(names), .must_return = !planning.gives_up});
  if (planning.gives_up) {
    planning.plan.steps.back().loses = fmt::format(
        "driver {}, whose packages are no longer available", planning.facts.existing_version);
  }
}

}  // namespace kgpu::driver
