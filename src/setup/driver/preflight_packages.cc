// Asking the host's package manager whether the plan's packages could be had.
#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "src/platform/base/strings.h"
#include "src/setup/driver/module_facts.h"
#include "src/setup/driver/preflight.h"
#include "src/setup/driver/preflight_ask.h"

namespace kgpu::driver {
namespace {

// Steps from which on other packages can be had than now.
bool ChangesSources(const Step& step) {
  constexpr std::array<std::string_view, 3> kIds = {"repository", "epel", "stream"};
  return std::ranges::find(kIds, step.id) != kIds.end();
}

// Steps whose packages are the distribution's own, whatever else is added.
bool IsOwn(const Step& step) {
  constexpr std::array<std::string_view, 5> kIds = {"headers", "compilers", "signing-tool",
                                                    "repository-tool", "lock-tool"};
  return std::ranges::find(kIds, step.id) != kIds.end();
}

struct Asked {
  std::vector<std::string> names;
  bool is_all = true;  // nothing of the plan had to be left out
};

// dnf is asked with its locks as they are now: those of the driver before let nothing else in.
bool ChangesLocks(const HostFacts& facts, const Step& step) {
  const Family family = facts.distribution.family;
  return facts.ours && family != Family::kDebian && family != Family::kUbuntu &&
         step.id.starts_with("branch");
}

Asked PackagesToAsk(const HostFacts& facts, const Plan& plan) {
  Asked asked;
  bool is_changed = false;
  for (const Step& step : plan.steps) {
    is_changed |= ChangesSources(step) || ChangesLocks(facts, step);
    const auto* install = std::get_if<InstallPackages>(&step.deed);
    // What follows the version of another is known only when that one is here.
    if (install == nullptr || !install->version_of.empty()) {
      continue;
    }
    if (is_changed && !IsOwn(step)) {
      asked.is_all = false;
      continue;
    }
    asked.names.insert(asked.names.end(), install->names.begin(), install->names.end());
  }
  return asked;
}

// Asks dnf itself: `dnf download` is of a plugin that may be yet to come. It is content with what
// it does not find, too, so what it lists is looked at.
void CheckKeptByDnf(const std::string& dnf, const HostFacts& facts, const Plan& plan,
                    const sys::Root& host, sys::ProgramRunner& runner,
                    std::vector<Finding>& findings) {
  const std::vector<std::string> specs = KeptPackages(facts, plan, '-');
  if (specs.empty()) {
    return;
  }
  constexpr const char* kForm =
      "--queryformat=%{name}-%{version}-%{release}\\n%{name}-%{version}-%{release}.%{arch}\\n";
  std::vector<std::string> argv = {
      dnf, "--quiet", "repoquery", "--available", "--setopt=*.module_hotfixes=1", kForm};
  argv.insert(argv.end(), specs.begin(), specs.end());
  const StatusOr<sys::RunResult> result = runner.Run(QuestionOf(argv, host));
  const std::string out = result.ok() ? result->out : "";
  if (!result.ok() || !result->IsSuccess()) {
    findings.push_back(
        {.id = "package-manager",
         .text = fmt::format("whether the driver that is here could come back is not known: {}: {}",
                             Join(argv, " "),
                             result.ok() ? sys::Describe(*result) : Message(result.status())),
         .mend = "mend what it says"});
    return;
  }
  const std::vector<std::string_view> lines = Split(out, '\n');
  std::vector<std::string> lacking;
  std::ranges::copy_if(specs, std::back_inserter(lacking), [&lines](const std::string& spec) {
    return std::ranges::find(lines, spec) == lines.end();
  });
  if (!lacking.empty()) {
    NoteNotKept(fmt::format("no repository has {}", Join(lacking, ", ")), findings);
  }
}

void CheckDnf(const HostFacts& facts, const Plan& plan, const std::vector<std::string>& names,
              const sys::Root& host, sys::ProgramRunner& runner, std::vector<Finding>& findings) {
  const std::string dnf = facts.Program("dnf");
  CheckKeptByDnf(dnf, facts, plan, host, runner, findings);
  if (names.empty()) {
    return;
  }
  std::vector<std::string> argv = {dnf, "--assumeno", "install"};
  argv.insert(argv.end(), names.begin(), names.end());
  const StatusOr<sys::RunResult> result = runner.Run(QuestionOf(argv, host));
  // "No" is its answer to its own question, an error: only what it says tells the two apart.
  const std::string text = result.ok() ? fmt::format("{}\n{}", result->out, result->err) : "";
  if (result.ok() && !result->IsSuccess() && text.find("Operation aborted") == std::string::npos) {
    NoteUnresolved(Join(names, ", "), ReasonOf(text), findings);
  }
}

void CheckZypper(const HostFacts& facts, const Plan& plan, const std::vector<std::string>& names,
                 const sys::Root& host, sys::ProgramRunner& runner,
                 std::vector<Finding>& findings) {
  const std::string zypper = facts.Program("zypper");
  CheckKept({zypper, "--non-interactive", "download", "--dry-run"}, KeptPackages(facts, plan, '='),
            host, runner, findings);
  if (names.empty()) {
    return;
  }
  std::vector<std::string> argv = {zypper, "--non-interactive", "install", "--dry-run",
                                   "--auto-agree-with-licenses"};
  argv.insert(argv.end(), names.begin(), names.end());
  NoteUnresolved(Join(names, ", "), Try(argv, host, runner, findings), findings);
}

// What a family's plans install packages with; empty: they have none.
std::string_view ManagerOf(Family family) {
  switch (family) {
    case Family::kDebian:
    case Family::kUbuntu:
      return "apt-get";
    case Family::kRhel:
    case Family::kFedora:
    case Family::kAmazon:
      return "dnf";
    case Family::kSuse:
      return "zypper";
    case Family::kOther:
      break;
  }
  return "";
}

bool HasPackages(const Plan& plan) {
  return std::ranges::any_of(plan.steps, [](const Step& step) {
    return std::holds_alternative<InstallPackages>(step.deed) ||
           std::holds_alternative<RemovePackages>(step.deed);
  });
}

// Modules of another version that DKMS would build again with every kernel, and that could win.
void CheckDkms(const HostFacts& facts, const Plan& plan, const sys::Root& host,
               sys::ProgramRunner& runner, std::vector<Finding>& findings) {
  const std::string dkms = facts.Program("dkms");
  if (dkms.empty()) {
    return;
  }
  const auto result = runner.Run(QuestionOf({dkms, "status"}, host));
  if (!result.ok() || !result->IsSuccess()) {
    return;
  }
  for (const DkmsEntry& entry : ParseDkmsStatus(result->out)) {
    if (entry.module.starts_with("nvidia") && !entry.module.starts_with("nvidia-fs") &&
        (!IsVersion(entry.version, plan.version) || entry.state == "broken")) {
      findings.push_back({.id = "dkms",
                          .is_blocker = false,
                          .text = fmt::format("DKMS has {} {}{}{}, {}", entry.module, entry.version,
                                              entry.kernel.empty() ? "" : " for kernel ",
                                              entry.kernel, entry.state),
                          .mend = fmt::format("dkms remove {}/{} --all, when no package brought it",
                                              entry.module, entry.version)});
    }
  }
}

}  // namespace

std::vector<Finding> CheckPackages(const HostFacts& facts, const Plan& plan, const sys::Root& host,
                                   sys::ProgramRunner& runner) {
  std::vector<Finding> findings;
  CheckDkms(facts, plan, host, runner, findings);
  const std::string_view manager = ManagerOf(facts.distribution.family);
  if (HasPackages(plan) && !manager.empty() && facts.Program(manager).empty()) {
    findings.push_back({.id = "package-manager",
                        .text = fmt::format("{} is not on this host", manager),
                        .mend = "install it; --host-root names the root of a whole system"});
    return findings;
  }
  const Asked asked = PackagesToAsk(facts, plan);
  if (!asked.is_all) {
    findings.push_back(
        {.id = "packages",
         .is_blocker = false,
         .text = "whether the driver's packages can be installed is not known before a repository "
                 "is added or a branch chosen, which the plan does",
         .mend = "none needed: when they can not, all is taken back"});
  }
  if (asked.names.empty() && KeptPackages(facts, plan, '=').empty()) {
    return findings;
  }
  switch (facts.distribution.family) {
    case Family::kDebian:
    case Family::kUbuntu:
      CheckApt(facts, plan, asked.names, host, runner, findings);
      break;
    case Family::kRhel:
    case Family::kFedora:
    case Family::kAmazon:
      CheckDnf(facts, plan, asked.names, host, runner, findings);
      break;
    case Family::kSuse:
      CheckZypper(facts, plan, asked.names, host, runner, findings);
      break;
    case Family::kOther:
      break;
  }
  return findings;
}

}  // namespace kgpu::driver
