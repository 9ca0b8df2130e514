#include "src/host/packages/rpm.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "src/host/packages/changes.h"
#include "src/host/packages/rpm_front.h"
#include "src/host/packages/rpm_specs.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/sys/find_program.h"

namespace kgpu::packages {

RpmManager::RpmManager(const sys::Root& host, sys::ProgramRunner& runner, Front front,
                       std::string program)
    : calls_(host, runner, {fmt::format("ZYPP_LOCK_TIMEOUT={}", kLockWait.count())}),
      front_(front),
      program_(std::move(program)),
      rpm_(sys::FindProgram(host, "rpm")) {
  if (rpm_.empty()) {
    rpm_ = "/usr/bin/rpm";
  }
}

StatusOr<PackageList> RpmManager::List() const {
  ASSIGN_OR_RETURN(const std::string text,
                   calls_.Query({rpm_, "-qa", "--queryformat", std::string(kRpmFormat)}));
  return ParseRpmQuery(text);
}

StatusOr<std::map<std::string, std::string>> RpmManager::Installed() {
  ASSIGN_OR_RETURN(const PackageList list, List());
  std::map<std::string, std::string> installed;
  for (const auto& [name, package] : list) {
    installed[name] = package.version;
  }
  return installed;
}

StatusOr<std::set<std::string>> RpmManager::Unfinished() {
  return std::set<std::string>();  // rpm lists what failed like any other
}

std::vector<std::string> RpmManager::ArgumentsFor(const std::vector<std::string>& verb,
                                                  const std::vector<std::string>& missing) const {
  std::vector<std::string> argv = Concat({program_}, verb);
  for (const std::string& name : missing) {
    argv.push_back(InstallSpecOf(front_, name));
  }
  return argv;
}

StatusOr<Foreseen> RpmManager::Try(const std::vector<std::string>& missing) const {
  // What the lists of packages are older than may be read again first.
  ASSIGN_OR_RETURN(const sys::RunResult result,
                   calls_.Run(ArgumentsFor(TrialArguments(front_), missing), kChangeDeadline));
  if (!IsTrialHealthy(front_, result)) {
    return FailureOf(program_, fmt::format("install {}", Join(missing, " ")), result);
  }
  return Foreseen{.names = NamesOfTrial(front_, result), .configured = {}};
}

StatusOr<Foreseen> RpmManager::Foresee(const std::vector<std::string>& names) {
  RETURN_IF_ERROR(CheckNames(names));
  RETURN_IF_ERROR(calls_.CheckRoot());
  ASSIGN_OR_RETURN(const PackageList list, List());
  const std::vector<std::string> missing = Missing(names, list);
  return missing.empty() ? Foreseen() : Try(missing);
}

Status RpmManager::Install(const std::vector<std::string>& names) {
  RETURN_IF_ERROR(CheckNames(names));
  RETURN_IF_ERROR(calls_.CheckRoot());
  ASSIGN_OR_RETURN(const PackageList before, List());
  const std::vector<std::string> missing = Missing(names, before);
  if (missing.empty()) {
    return OkStatus();
  }
  ASSIGN_OR_RETURN(const Foreseen foreseen, Try(missing));
  const StatusOr<sys::RunResult> result =
      calls_.Run(ArgumentsFor(InstallArguments(front_), missing), kChangeDeadline);
  if (result.ok() && IsHealthy(front_, *result) && !PassedOver(front_, *result)) {
    return OkStatus();
  }
  const auto take_off = [this](const std::vector<std::string>& came, const PackageList& now) {
    RETURN_IF_ERROR(CheckRemoval(came, now));
    return RemoveNow(came, now);
  };
  return EndFailed(calls_, program_, names, result, before, foreseen,
                   {[this] { return List(); }, take_off});
}

}  // namespace kgpu::packages
