// Asking the host's package manager whether the plan's packages could be had.
#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "src/host/packages/calls.h"
#include "src/platform/base/strings.h"
#include "src/setup/driver/module_facts.h"
#include "src/setup/driver/preflight.h"
#include "src/setup/driver/preflight_ask.h"

namespace kgpu::driver {
namespace {

// Steps after which other packages are available than now.
bool ChangesSources(const Step& step) {
  constexpr std::array<std::string_view, 3> kIds = {"repository", "epel", "stream"};
  return std::ranges::find(kIds, step.id) != kIds.end();
}

// Steps whose packages are the distribution's own, whatever sources are added.
bool IsOwn(const Step& step) {
  constexpr std::array<std::string_view, 5> kIds = {"headers", "compilers", "signing-tool",
                                                    "repository-tool", "lock-tool"};
  return std::ranges::find(kIds, step.id) != kIds.end();
}

struct Asked {
  std::vector<std::string> names;
  bool is_all = true;  // nothing of the plan was left out
};

// dnf uses its present locks: those of the previous driver allow no other version.
bool ChangesLocks(const HostFacts& facts, const Step& step) {
  const host::Family family = facts.distribution.family;
  return facts.ours && family != host::Family::kDebian && family != host::Family::kUbuntu &&
         step.id.starts_with("branch");
}

Asked PackagesToAsk(const HostFacts& facts, const Plan& plan) {
  Asked asked;
  bool is_changed = false;
  for (const Step& step : plan.steps) {
    is_changed |= ChangesSources(step) || ChangesLocks(facts, step);
    const auto* install = std::get_if<InstallPackages>(&step.action);
    // A package with the version of another one is known only once that is installed.
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

// `dnf repoquery` needs no plugin. It also succeeds for packages that it does not find, so its list
// is compared.
void CheckKeptByDnf(const std::string& dnf, Asking& asking) {
  const std::vector<std::string> specs = KeptPackages(asking.facts, asking.plan, '-');
  if (specs.empty()) {
    return;
  }
  constexpr const char* kForm =
      "--queryformat=%{name}-%{version}-%{release}\\n%{name}-%{version}-%{release}.%{arch}\\n";
  const std::vector<std::string> argv = Concat(
      {dnf, "--quiet", "repoquery", "--available", "--setopt=*.module_hotfixes=1", kForm}, specs);
  const StatusOr<sys::RunResult> result = Ask(asking, argv);
  if (!result.ok() || !result->IsSuccess()) {
    asking.findings.push_back(
        {.id = "package-manager",
         .message = fmt::format(
             "cannot tell whether the installed driver could be restored: {}: {}", Join(argv, " "),
             result.ok() ? sys::Describe(*result) : Message(result.status())),
         .fix = {.commands = {"# fix the reported problem"}}});
    return;
  }
  const std::vector<std::string_view> lines = Split(result->out, '\n');
  std::vector<std::string> lacking;
  std::ranges::copy_if(specs, std::back_inserter(lacking), [&lines](const std::string& spec) {
    return std::ranges::find(lines, spec) == lines.end();
  });
  if (!lacking.empty()) {
    NoteNotKept(fmt::format("no repository has {}", Join(lacking, ", ")), asking);
  }
}

void CheckDnf(Asking& asking) {
  const std::string dnf = asking.facts.Program("dnf");
  CheckKeptByDnf(dnf, asking);
  if (asking.names.empty()) {
    return;
  }
  const auto result = Ask(asking, Concat({dnf, "--assumeno", "install"}, asking.names));
  // "No" is its answer to its own question, an error: only what it says tells the two apart.
  const std::string text = result.ok() ? fmt::format("{}\n{}", result->out, result->err) : "";
  if (result.ok() && !result->IsSuccess() && text.find("Operation aborted") == std::string::npos) {
    NoteUnresolved(ReasonOf(text), asking);
  }
}

void CheckZypper(Asking& asking) {
  const std::string zypper = asking.facts.Program("zypper");
  CheckKept({zypper, "--non-interactive", "download", "--dry-run"}, asking);
  CheckInstall({zypper, "--non-interactive", "install", "--dry-run", "--auto-agree-with-licenses"},
               asking);
}

// How a family's plans install packages, and who can simulate it.
struct Manager {
  std::string_view program;
  void (*check)(Asking& asking);
};
std::optional<Manager> ManagerOf(host::Family family) {
  switch (family) {
    case host::Family::kDebian:
    case host::Family::kUbuntu:
      return Manager{"apt-get", CheckApt};
    case host::Family::kSuse:
      return Manager{"zypper", CheckZypper};
    default:
      return host::UsesDnf(family) ? std::optional(Manager{"dnf", CheckDnf}) : std::nullopt;
  }
}

bool HasPackages(const Plan& plan) {
  return std::ranges::any_of(plan.steps, [](const Step& step) {
    return std::holds_alternative<InstallPackages>(step.action) ||
           std::holds_alternative<RemovePackages>(step.action);
  });
}

// Modules of another version that DKMS would build again with every kernel, and that could win.
void CheckDkms(Asking& asking) {
  const std::string dkms = asking.facts.Program("dkms");
  if (dkms.empty()) {
    return;
  }
  const auto result = Ask(asking, {dkms, "status"});
  if (!result.ok() || !result->IsSuccess()) {
    return;
  }
  for (const DkmsEntry& entry : ParseDkmsStatus(result->out)) {
    if (entry.module.starts_with("nvidia") && !entry.module.starts_with("nvidia-fs") &&
        (!IsVersion(entry.version, asking.plan.version) || entry.state == "broken")) {
      asking.findings.push_back(
          {.id = "dkms",
           .severity = report::Severity::kWarning,
           .message =
               fmt::format("DKMS has {} {}{}{}, {}", entry.module, entry.version,
                           entry.kernel.empty() ? "" : " for kernel ", entry.kernel, entry.state),
           .fix = {
               .commands = {fmt::format("dkms remove {}/{} --all   # if no package installed it",
                                        entry.module, entry.version)}}});
    }
  }
}

}  // namespace

Findings CheckPackages(const HostFacts& facts, const Plan& plan, const sys::Root& host,
                       sys::ProgramRunner& runner) {
  Asking asking{.facts = facts, .plan = plan, .host = host, .runner = runner};
  CheckDkms(asking);
  const std::optional<Manager> manager = ManagerOf(facts.distribution.family);
  if (HasPackages(plan) && manager && facts.Program(manager->program).empty()) {
    asking.findings.push_back(
        {.id = "package-manager",
         .message = fmt::format("{} not found on this host", manager->program),
         .fix = {.commands = {"# install it; --host-root must be the root of a whole system"}}});
    return asking.findings;
  }
  if (auto problem = packages::FindRootProblem(host); problem && HasPackages(plan)) {
    asking.findings.push_back({.id = "host-root",
                               .message = std::move(problem->message),
                               .fix = {.commands = std::move(problem->commands)}});
    return asking.findings;
  }
  Asked asked = PackagesToAsk(facts, plan);
  if (!asked.is_all) {
    asking.findings.push_back(
        {.id = "packages",
         .severity = report::Severity::kInfo,
         .message = "cannot tell whether the driver's packages can be installed before the plan "
                    "adds a repository or selects a branch",
         .fix = {.commands = {"# nothing to do: if they cannot, everything is undone"}}});
  }
  if (manager && !(asked.names.empty() && KeptPackages(facts, plan, '=').empty())) {
    asking.names = std::move(asked.names);
    manager->check(asking);
  }
  return asking.findings;
}

}  // namespace kgpu::driver
