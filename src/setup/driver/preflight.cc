#include "src/setup/driver/preflight.h"

#include <algorithm>
#include <array>
#include <iterator>

#include <fmt/format.h>

#include "src/platform/base/strings.h"
#include "src/setup/driver/planner.h"

namespace kgpu::driver {
namespace {

struct Need {
  std::string_view folder;
  uint64_t bytes = 0;
  std::string_view what;
};
constexpr std::array<Need, 3> kNeeds = {{
    {"/usr", uint64_t{3} << 30, "packages and DKMS builds"},
    {"/var", uint64_t{2} << 30, "downloaded packages and build objects"},
    {"/boot", uint64_t{200} << 20, "a second initial RAM disk"},
}};

void CheckSpace(const HostFacts& facts, Findings& findings) {
  for (const FreeSpace& space : facts.space) {
    const auto* need = std::ranges::find(kNeeds, space.folder, &Need::folder);
    if (need != kNeeds.end() && space.bytes < need->bytes) {
      findings.push_back(
          {.id = "space",
           .message = fmt::format("{} MiB are free below {}, {} are needed: {}", space.bytes >> 20,
                                  space.folder, need->bytes >> 20, need->what),
           .fix = {.commands = {"# free disk space: old kernels and package caches first"}}});
    }
  }
}

void CheckExisting(const HostFacts& facts, const Plan& plan, Findings& findings) {
  const bool is_file = plan.source == SourceKind::kRunFile;
  if (facts.existing == Existing::kPackages && is_file) {
    findings.push_back(
        {.id = "other-driver",
         .message = fmt::format(
             "packages of driver {} are installed, whose files the installer would overwrite",
             facts.existing_version),
         .fix = {.commands = {"# remove the packages",
                              "# or plan with --source distribution or nvidia"}}});
  }
}

// For a driver about which nothing else is reported.
void CheckUnowned(const HostFacts& facts, Findings& findings) {
  const bool is_reported =
      std::ranges::find(findings, "other-driver", &report::Finding::id) != findings.end();
  if (facts.existing == Existing::kOther && !is_reported) {
    findings.push_back(
        {.id = "other-driver",
         .severity = report::Severity::kWarning,
         .message =
             fmt::format("parts of driver {} are installed that belong to no package or installer",
                         facts.existing_version),
         .fix = {.commands = {"kgpu doctor   # find out where they come from"}}});
  }
}

// Packages with modules of another version are here; else only what is loaded is of another one.
bool HasOtherModules(const HostFacts& facts, const Plan& plan) {
  return std::ranges::any_of(facts.packages, [&plan](const auto& one) {
    return host::IsModulePackage(one.first) &&
           !IsVersion(host::UpstreamVersion(one.second.version), plan.version);
  });
}

// Another driver is removed only if it can be restored when the plan fails: packages can be
// installed again, anything else cannot.
void CheckWayBack(const HostFacts& facts, const Plan& plan, Findings& findings) {
  const bool returns = std::ranges::any_of(plan.steps, [](const Step& step) {
    const auto* packages = std::get_if<RemovePackages>(&step.action);
    return packages != nullptr && packages->must_return;
  });
  const bool is_installers = facts.existing == Existing::kRunFile;
  const bool is_over_installer = is_installers && plan.source != SourceKind::kRunFile;
  const std::string old = ReplacedVersion(facts, plan);
  if (facts.existing == Existing::kPackages && plan.source == SourceKind::kRunFile) {
    return;  // CheckExisting reports more about it
  }
  if (facts.existing == Existing::kPackages && !HasOtherModules(facts, plan)) {
    return;
  }
  if (returns || (old.empty() && !is_over_installer)) {
    return;
  }
  findings.push_back(
      {.id = "other-driver",
       .message =
           fmt::format("{} is installed, and cannot be restored after a failure or a removal",
                       is_installers ? InstallersDriver(facts) : fmt::format("driver {}", old)),
       .fix = {.commands = {is_installers ? "/usr/bin/nvidia-uninstall   # first, and keep its .run"
                                          : "# remove it first, the way it was installed",
                            "# or continue without a way back: --no-restore"}}});
}

void CheckHeld(const HostFacts& facts, Findings& findings) {
  std::vector<std::string> held;
  for (const host::Packages* packages : {&facts.packages, &facts.former}) {
    for (const auto& [name, package] : *packages) {
      if (package.is_held && host::IsDriverPackage(name)) {
        held.push_back(name);
      }
    }
  }
  if (!held.empty()) {
    findings.push_back({.id = "held",
                        .message = fmt::format("held at their versions: {}", Join(held, ", ")),
                        .fix = {.commands = {fmt::format("apt-mark unhold {}", Join(held, " "))}}});
  }
}

// Packages that the undo would have to configure, and that could not be configured before.
void CheckUnfinished(const HostFacts& facts, const Plan& plan, Findings& findings) {
  std::vector<std::string> names;
  for (const Step& step : plan.steps) {
    const auto* removal = std::get_if<RemovePackages>(&step.action);
    if (removal == nullptr || !removal->must_return) {
      continue;
    }
    std::ranges::copy_if(removal->names, std::back_inserter(names), [&](const std::string& name) {
      const auto found = facts.packages.find(name);
      return found != facts.packages.end() && found->second.is_unfinished;
    });
  }
  if (!names.empty()) {
    findings.push_back({.id = "unfinished",
                        .severity = report::Severity::kWarning,
                        .message = fmt::format("not configured, so the installed driver may not be "
                                               "fully restored after a failure: {}",
                                               Join(names, ", ")),
                        .fix = {.commands = {"dpkg --configure --pending   # shows the reason; fix "
                                             "it first if you need that driver"}}});
  }
}

bool Unloads(const Plan& plan) {
  return std::ranges::any_of(plan.steps, [](const Step& step) {
    return std::holds_alternative<UnloadModules>(step.action);
  });
}

// A display ends with its manager, which the plan stops.
void CheckDisplays(const HostFacts& facts, Findings& findings) {
  std::vector<std::string> names;
  names.reserve(facts.host.displays.size());
  for (const host::Daemon& daemon : facts.host.displays) {
    names.push_back(fmt::format("{} ({})", daemon.name, daemon.pid));
  }
  if (!names.empty()) {
    findings.push_back(
        {.id = "display",
         .severity = report::Severity::kWarning,
         .message = fmt::format("{} is using the display: it stops during the installation",
                                Join(names, ", ")),
         .fix = {.commands = {"# save your work there"}}});
  }
}

// Who has a device open that no unit of ours is stopped for: the modules would stay in use.
void CheckHolders(const HostFacts& facts, Findings& findings) {
  std::vector<std::string> names;
  bool is_in_pod = false;
  for (const GpuHolder& holder : facts.holders) {
    const bool draws = std::ranges::any_of(
        facts.host.displays,
        [&holder](const host::Daemon& daemon) { return daemon.pid == holder.pid; });
    if (draws || holder.IsOf(facts.users)) {
      continue;
    }
    is_in_pod |= holder.is_in_pod();
    names.push_back(fmt::format("{} ({})", holder.name, holder.pid));
  }
  if (!names.empty()) {
    const size_t count = names.size();
    names.resize(std::min<size_t>(count, 8));
    findings.push_back(
        {.id = "users",
         .message =
             fmt::format("{} processes use the GPUs, so the modules cannot be unloaded: {}{}",
                         count, Join(names, ", "), count > names.size() ? ", …" : ""),
         .fix = {.commands = {is_in_pod ? "kubectl drain NODE --ignore-daemonsets   # and remove "
                                          "device plugins and GPU monitors"
                                        : "# stop them, or their containers"}}});
  }
}

void CheckUsers(const HostFacts& facts, const Plan& plan, Findings& findings) {
  if (Unloads(plan) && facts.host.driver.is_nvidia_loaded) {
    CheckDisplays(facts, findings);
    CheckHolders(facts, findings);
  }
}

void CheckKernel(const HostFacts& facts, Findings& findings) {
  if (facts.kernel.is_running && facts.host.kernel.is_loading_refused) {
    findings.push_back(
        {.id = "loading",
         .message =
             "the kernel loads no more modules until the next boot (kernel.modules_disabled)",
         .fix = {.commands = {"# remove kernel.modules_disabled=1 from sysctl.d and reboot"}}});
  }
  const std::string& release = facts.host.kernel.release;
  const bool is_newest = facts.kernel.installed.empty() || !facts.kernel.is_running ||
                         facts.kernel.installed.back() == release;
  if (!is_newest) {
    findings.push_back(
        {.id = "newer-kernel",
         .severity = report::Severity::kWarning,
         .message = fmt::format("kernel {} is installed and newer than the running {}",
                                facts.kernel.installed.back(), release),
         .fix = {.commands = {"# reboot into it first, or also install its headers"}}});
  }
}

}  // namespace

Findings CheckFacts(const HostFacts& facts, const Plan& plan, bool gives_up) {
  Findings findings;
  CheckSpace(facts, findings);
  CheckExisting(facts, plan, findings);
  if (!gives_up) {
    CheckWayBack(facts, plan, findings);
    CheckUnfinished(facts, plan, findings);
  }
  CheckUnowned(facts, findings);
  CheckHeld(facts, findings);
  CheckUsers(facts, plan, findings);
  CheckKernel(facts, findings);
  return findings;
}

}  // namespace kgpu::driver
