#include "src/host/packages/apt.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "src/host/packages/changes.h"
#include "src/host/packages/service_policy.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/sys/find_program.h"

namespace kgpu::packages {
namespace {

// No prompts, since nobody can answer; tools that restart services after an installation wait.
std::vector<std::string> Environment() {
  return {"DEBIAN_FRONTEND=noninteractive", "DEBIAN_PRIORITY=critical",
          "APT_LISTCHANGES_FRONTEND=none", "UCF_FORCE_CONFFOLD=1", "NEEDRESTART_SUSPEND=1"};
}

std::string OrUsual(const std::string& found, std::string_view usual) {
  return found.empty() ? std::string(usual) : found;
}

bool AsksForVersion(const std::string& name) {
  return name.find('=') != std::string::npos;
}

// Whether the package that `name` asks for is wholly there: in the version asked for, or in any.
bool IsPackageThere(const PackageList& list, std::string_view name) {
  const size_t equals = name.find('=');
  const auto found = list.find(std::string(name.substr(0, equals)));
  return found != list.end() && found->second.state == State::kWhole &&
         (equals == std::string_view::npos || found->second.version == name.substr(equals + 1));
}

Status CheckInstallable(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (name.find("://") != std::string::npos) {
      return InvalidArgument(
          "{}: apt does not install from URLs: download the file and use its path", name);
    }
  }
  return CheckNames(names);
}

std::vector<std::string> MissingDebs(const std::vector<std::string>& names,
                                     const PackageList& list) {
  std::vector<std::string> missing;
  std::ranges::copy_if(names, std::back_inserter(missing),
                       [&list](const std::string& name) { return !IsPackageThere(list, name); });
  return missing;
}

// Whether an installation that failed still did what was requested: packages that are incomplete
// were so before, such as a module that no longer builds, which apt-get tries each time.
bool CameNevertheless(const std::vector<std::string>& names, const PackageList& before,
                      const StatusOr<PackageList>& now) {
  const std::set<std::string> unfinished = now.ok() ? UnfinishedOf(*now) : std::set<std::string>();
  return !unfinished.empty() && std::ranges::includes(UnfinishedOf(before), unfinished) &&
         MissingDebs(names, *now).empty();
}

std::vector<std::string> InstallArguments(const std::vector<std::string>& missing) {
  std::vector<std::string> arguments = {"--no-remove", "--fix-broken", "install"};
  if (std::ranges::any_of(missing, AsksForVersion)) {
    arguments.emplace_back("--allow-downgrades");  // the way back to what was there
  }
  return Concat(std::move(arguments), missing);
}

}  // namespace

AptManager::AptManager(const sys::Root& host, sys::ProgramRunner& runner)
    : calls_(host, runner, Environment()),
      apt_get_(OrUsual(sys::FindProgram(host, "apt-get"), "/usr/bin/apt-get")),
      dpkg_(OrUsual(sys::FindProgram(host, "dpkg"), "/usr/bin/dpkg")),
      dpkg_query_(OrUsual(sys::FindProgram(host, "dpkg-query"), "/usr/bin/dpkg-query")) {
}

StatusOr<PackageList> AptManager::List() const {
  ASSIGN_OR_RETURN(
      const std::string text,
      calls_.Query({dpkg_query_, "--show", fmt::format("--showformat={}", kDpkgFormat)}));
  return ParseDpkgQuery(text);
}

StatusOr<std::map<std::string, std::string>> AptManager::Installed() {
  ASSIGN_OR_RETURN(const PackageList list, List());
  std::map<std::string, std::string> installed;
  for (const auto& [name, package] : list) {
    if (package.state != State::kConfigOnly) {
      installed[name] = package.version;
    }
  }
  return installed;
}

StatusOr<std::set<std::string>> AptManager::Unfinished() {
  ASSIGN_OR_RETURN(const PackageList list, List());
  return UnfinishedOf(list);
}

// dpkg first notes each change in a file of its own there, before it rewrites its database.
bool AptManager::WasInterrupted() const {
  const auto notes = calls_.host().ListDir("var/lib/dpkg/updates");
  return notes.ok() && !notes->empty();
}

Status AptManager::Configure() const {
  return calls_
      .Run({dpkg_, "--force-confdef", "--force-confold", "--configure", "-a"}, kChangeDeadline)
      .status();
}

StatusOr<sys::RunResult> AptManager::AptGet(const std::vector<std::string>& arguments,
                                            std::chrono::seconds deadline) const {
  return calls_.Run(
      Concat({apt_get_, "-q", "-y", "--no-install-recommends", "-o",
              fmt::format("DPkg::Lock::Timeout={}", kLockWait.count()), "-o",
              "DPkg::Options::=--force-confdef", "-o", "DPkg::Options::=--force-confold", "-o",
              "APT::Get::AutomaticRemove=false", "-o", "APT::Keep-Downloaded-Packages=false"},
             arguments),
      deadline);
}

StatusOr<PackageList> AptManager::Settled() const {
  ASSIGN_OR_RETURN(PackageList list, List());
  if (WasInterrupted() || HasUnfinished(list)) {
    RETURN_IF_ERROR(Configure());
    return List();
  }
  return list;
}

StatusOr<Foreseen> AptManager::Simulate(const PackageList& list,
                                        const std::vector<std::string>& missing) const {
  ASSIGN_OR_RETURN(const sys::RunResult result,
                   AptGet(Concat({"--simulate"}, InstallArguments(missing)), kQueryDeadline));
  if (!result.IsSuccess()) {
    return FailureOf(apt_get_, fmt::format("install {}", Join(missing, " ")), result);
  }
  Simulated simulated = ParseAptSimulation(result.out);
  Foreseen foreseen;
  foreseen.names.insert(simulated.installed.begin(), simulated.installed.end());
  foreseen.names.insert(simulated.removed.begin(), simulated.removed.end());
  for (const std::string& name : foreseen.names) {
    const auto found = list.find(name);
    if (found != list.end() && found->second.state == State::kConfigOnly) {
      foreseen.configured.insert(name);
    }
  }
  return foreseen;
}

StatusOr<Foreseen> AptManager::Foresee(const std::vector<std::string>& names) {
  RETURN_IF_ERROR(CheckInstallable(names));
  RETURN_IF_ERROR(calls_.CheckRoot());
  ASSIGN_OR_RETURN(const auto quiet, QuietServices(calls_.host()));
  ASSIGN_OR_RETURN(const PackageList list, Settled());
  const std::vector<std::string> missing = MissingDebs(names, list);
  return missing.empty() && !HasUnfinished(list) ? Foreseen() : Simulate(list, missing);
}

Status AptManager::Install(const std::vector<std::string>& names) {
  RETURN_IF_ERROR(CheckInstallable(names));
  RETURN_IF_ERROR(calls_.CheckRoot());
  ASSIGN_OR_RETURN(const auto quiet, QuietServices(calls_.host()));
  ASSIGN_OR_RETURN(const PackageList before, Settled());
  const std::vector<std::string> missing = MissingDebs(names, before);
  if (missing.empty() && !HasUnfinished(before)) {
    return OkStatus();
  }
  ASSIGN_OR_RETURN(const Foreseen foreseen, Simulate(before, missing));
  const StatusOr<sys::RunResult> result = AptGet(InstallArguments(missing), kChangeDeadline);
  if (result.ok() && (result->IsSuccess() || CameNevertheless(names, before, List()))) {
    return OkStatus();
  }
  const auto take_off = [&](const std::vector<std::string>& came, const PackageList& now) {
    RETURN_IF_ERROR(CheckRemoval(came, HasUnfinished(now)));
    return PurgeBut(came, foreseen.configured);
  };
  return EndFailed(calls_, apt_get_, names, result, before, foreseen,
                   {[this] { return List(); }, take_off});
}

}  // namespace kgpu::packages
