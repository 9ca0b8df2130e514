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
    {"/usr", uint64_t{3} << 30, "packages and what DKMS builds"},
    {"/var", uint64_t{2} << 30, "packages as they are loaded, the objects of a build"},
    {"/boot", uint64_t{200} << 20, "an initial RAM disk beside the old one"},
}};

void CheckSpace(const HostFacts& facts, std::vector<Finding>& findings) {
  for (const FreeSpace& space : facts.space) {
    const auto* need = std::ranges::find(kNeeds, space.folder, &Need::folder);
    if (need != kNeeds.end() && space.bytes < need->bytes) {
      findings.push_back(
          {.id = "space",
           .text = fmt::format("{} MiB are free below {}, {} are needed: {}", space.bytes >> 20,
                               space.folder, need->bytes >> 20, need->what),
           .mend = "make room: old kernels and caches of packages first"});
    }
  }
}

// Of a driver by kgpu: whatever else takes it off leaves a journal that is not true.
constexpr std::string_view kTakeOurs = "take it back first: kgpu driver remove";

void CheckExisting(const HostFacts& facts, const Plan& plan, std::vector<Finding>& findings) {
  const bool is_file = plan.source == SourceKind::kRunFile;
  if (facts.existing == Existing::kPackages && is_file) {
    findings.push_back({.id = "other-driver",
                        .text = fmt::format("packages of driver {} are here, whose files the "
                                            "installer would overwrite",
                                            facts.existing_version),
                        .mend = fmt::format("{}, or plan with --source distribution or nvidia",
                                            facts.ours ? kTakeOurs : "remove the packages")});
  }
}

// Where nothing more has to be said of it.
void CheckUnowned(const HostFacts& facts, std::vector<Finding>& findings) {
  const bool is_told = std::ranges::find(findings, "other-driver", &Finding::id) != findings.end();
  if (facts.existing == Existing::kOther && !is_told) {
    findings.push_back({.id = "other-driver",
                        .is_blocker = false,
                        .text = fmt::format("parts of driver {} are here, and no package or "
                                            "installer has them",
                                            facts.existing_version),
                        .mend = "find out who put them there (kgpu doctor)"});
  }
}

// Packages with modules of another version are here; else only what is loaded is of another one.
bool HasOtherModules(const HostFacts& facts, const Plan& plan) {
  return std::ranges::any_of(facts.packages, [&plan](const auto& one) {
    return IsModulePackage(one.first) &&
           !IsVersion(UpstreamVersion(one.second.version), plan.version);
  });
}

// Another driver gives way only where it comes back when the plan fails: its packages do, which are
// kept. Of all else nothing is left.
void CheckWayBack(const HostFacts& facts, const Plan& plan, std::vector<Finding>& findings) {
  const bool is_kept = std::ranges::any_of(plan.steps, [](const Step& step) {
    const auto* packages = std::get_if<RemovePackages>(&step.deed);
    return packages != nullptr && packages->is_kept;
  });
  const bool is_installers = facts.existing == Existing::kRunFile;
  const bool is_over_installer = is_installers && plan.source != SourceKind::kRunFile;
  const std::string old = ReplacedVersion(facts, plan);
  if (facts.existing == Existing::kPackages && plan.source == SourceKind::kRunFile) {
    return;  // CheckExisting has more to say of it
  }
  if (facts.existing == Existing::kPackages && !HasOtherModules(facts, plan)) {
    return;
  }
  if (is_kept || (old.empty() && !is_over_installer)) {
    return;
  }
  findings.push_back(
      {.id = "other-driver",
       .text =
           fmt::format("{} is here, and would not come back if this fails, or when it is removed",
                       is_installers ? InstallersDriver(facts) : fmt::format("driver {}", old)),
       .mend =
           fmt::format("{}, or give it up with --no-way-back",
                       facts.ours      ? kTakeOurs
                       : is_installers ? "keep its .run, and run /usr/bin/nvidia-uninstall first"
                                       : "take it off first, as it came")});
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

// What would have to be configured again on the way back, and could not be before.
void CheckUnfinished(const HostFacts& facts, const Plan& plan, std::vector<Finding>& findings) {
  std::vector<std::string> names;
  for (const Step& step : plan.steps) {
    const auto* removal = std::get_if<RemovePackages>(&step.deed);
    if (removal == nullptr || !removal->is_kept) {
      continue;
    }
    std::ranges::copy_if(removal->names, std::back_inserter(names), [&](const std::string& name) {
      const auto found = facts.packages.find(name);
      return found != facts.packages.end() && found->second.is_unfinished;
    });
  }
  if (!names.empty()) {
    findings.push_back(
        {.id = "unfinished",
         .is_blocker = false,
         .text = fmt::format("not configured, so that the driver that is here may not come back "
                             "whole if this fails: {}",
                             Join(names, ", ")),
         .mend = "dpkg --configure --pending tells why; mend it first if that driver matters"});
  }
}

bool Unloads(const Plan& plan) {
  return std::ranges::any_of(plan.steps, [](const Step& step) {
    return std::holds_alternative<UnloadModules>(step.deed);
  });
}

// A display ends with its manager, which the plan stops.
void CheckDisplays(const HostFacts& facts, std::vector<Finding>& findings) {
  std::vector<std::string> names;
  names.reserve(facts.doctor.system.displays.size());
  for (const engine::Daemon& daemon : facts.doctor.system.displays) {
    names.push_back(fmt::format("{} ({})", daemon.name, daemon.pid));
  }
  if (!names.empty()) {
    findings.push_back({.id = "display",
                        .is_blocker = false,
                        .text = fmt::format("a display is drawn by {}: it ends for the time of the "
                                            "installation",
                                            Join(names, ", ")),
                        .mend = "save what is open there"});
  }
}

// Who has a device open that no unit of ours is stopped for: the modules would stay in use.
void CheckHolders(const HostFacts& facts, std::vector<Finding>& findings) {
  std::vector<std::string> names;
  bool is_in_pod = false;
  for (const GpuHolder& holder : facts.holders) {
    const bool draws = std::ranges::any_of(
        facts.doctor.system.displays,
        [&holder](const engine::Daemon& daemon) { return daemon.pid == holder.pid; });
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
         .text =
             fmt::format("{} processes hold GPUs, so that the modules can not be unloaded: {}{}",
                         count, Join(names, ", "), count > names.size() ? ", …" : ""),
         .mend = is_in_pod ? "empty the node first (kubectl drain NODE --ignore-daemonsets), and "
                             "take device plugins and monitors of GPUs off it"
                           : "end them, or the containers they are in"});
  }
}

void CheckUsers(const HostFacts& facts, const Plan& plan, std::vector<Finding>& findings) {
  if (Unloads(plan) && facts.doctor.driver.is_nvidia_loaded) {
    CheckDisplays(facts, findings);
    CheckHolders(facts, findings);
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

std::vector<Finding> CheckFacts(const HostFacts& facts, const Plan& plan, bool gives_up) {
  std::vector<Finding> findings;
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
