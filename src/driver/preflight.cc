#include "src/driver/preflight.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "src/base/strings.h"

namespace kgpu::driver {
namespace {

// Packages, their unpacked files, the sources and objects of a module that DKMS builds.
constexpr uint64_t kNeededSpace = uint64_t{3} << 30;

bool IsDriverPackage(std::string_view name) {
  constexpr std::array<std::string_view, 5> kWords = {"nvidia", "cuda-drivers", "libcuda", "libnv",
                                                      "kmod-nvidia"};
  return std::ranges::any_of(kWords,
                             [name](std::string_view word) { return name.starts_with(word); });
}

void CheckSpace(const HostFacts& facts, std::vector<Finding>& findings) {
  if (facts.free_bytes && *facts.free_bytes < kNeededSpace) {
    findings.push_back({.id = "space",
                        .text = fmt::format("{} MiB are free below /usr, {} are needed to install "
                                            "and build",
                                            *facts.free_bytes >> 20, kNeededSpace >> 20),
                        .mend = "make room: old kernels and caches of packages first"});
  }
}

void CheckExisting(const HostFacts& facts, const Plan& plan, std::vector<Finding>& findings) {
  const bool is_file = plan.source == SourceKind::kRunFile;
  if (facts.existing == Existing::kRunFile && !is_file) {
    findings.push_back(
        {.id = "other-driver",
         .text = fmt::format("driver {} was put here by NVIDIA's installer, which packages would "
                             "overwrite in part",
                             facts.existing_version),
         .mend = "/usr/bin/nvidia-uninstall"});
  }
  if (facts.existing == Existing::kPackages && is_file) {
    findings.push_back(
        {.id = "other-driver",
         .text = fmt::format("packages of driver {} are here, whose files the "
                             "installer would overwrite",
                             facts.existing_version),
         .mend = "remove the packages, or plan with --source distribution or nvidia"});
  }
  if (facts.existing == Existing::kOther) {
    findings.push_back({.id = "other-driver",
                        .is_blocker = false,
                        .text = fmt::format("parts of driver {} are here, and no package or "
                                            "installer has them",
                                            facts.existing_version),
                        .mend = "find out who put them there (kgpu doctor)"});
  }
}

void CheckHeld(const HostFacts& facts, std::vector<Finding>& findings) {
  std::vector<std::string> held;
  for (const auto& [name, package] : facts.packages) {
    if (package.is_held && IsDriverPackage(name)) {
      held.push_back(name);
    }
  }
  if (!held.empty()) {
    findings.push_back({.id = "held",
                        .text = fmt::format("held at their versions: {}", Join(held, ", ")),
                        .mend = fmt::format("apt-mark unhold {}", Join(held, " "))});
  }
}

// What runs and has the module open: stopped by the plan only where it is a unit.
void CheckUsers(const HostFacts& facts, const Plan& plan, std::vector<Finding>& findings) {
  const bool unloads = std::ranges::any_of(plan.steps, [](const Step& step) {
    return std::holds_alternative<UnloadModules>(step.deed);
  });
  std::vector<std::string> names;
  for (const engine::Daemon& daemon : facts.doctor.system.displays) {
    names.push_back(fmt::format("{} ({})", daemon.name, daemon.pid));
  }
  if (unloads && !names.empty()) {
    findings.push_back({.id = "display",
                        .is_blocker = false,
                        .text = fmt::format("a display is drawn by {}: it ends for the time of the "
                                            "installation",
                                            Join(names, ", ")),
                        .mend = "save what is open there"});
  }
}

void CheckKernel(const HostFacts& facts, std::vector<Finding>& findings) {
  if (facts.kernel.is_running && facts.doctor.kernel.is_loading_refused) {
    findings.push_back({.id = "loading",
                        .text = "the kernel loads no more modules until it is started again "
                                "(kernel.modules_disabled)",
                        .mend = "take kernel.modules_disabled=1 out of sysctl.d and restart"});
  }
  const std::string& release = facts.doctor.kernel.release;
  const bool is_newest = facts.kernel.installed.empty() || !facts.kernel.is_running ||
                         facts.kernel.installed.back() == release;
  if (!is_newest) {
    findings.push_back({.id = "newer-kernel",
                        .is_blocker = false,
                        .text = fmt::format("kernel {} is installed and newer than the running {}",
                                            facts.kernel.installed.back(), release),
                        .mend = "restart into it first, or install its headers too"});
  }
}

}  // namespace

std::vector<Finding> CheckFacts(const HostFacts& facts, const Plan& plan) {
  std::vector<Finding> findings;
  CheckSpace(facts, findings);
  CheckExisting(facts, plan, findings);
  CheckHeld(facts, findings);
  CheckUsers(facts, plan, findings);
  CheckKernel(facts, findings);
  return findings;
}

}  // namespace kgpu::driver
