#include "src/packages/rpm.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "src/base/status_macros.h"
#include "src/base/strings.h"
#include "src/packages/changes.h"
#include "src/sys/find_program.h"

namespace kgpu::packages {
namespace {

constexpr std::string_view kKey = "gpg-pubkey-";

// "kmod-x=535.1-1" and "kernel-devel-5.14.0-1.el9.x86_64" as keys of a list are written.
std::string WithoutArch(std::string name) {
  std::ranges::replace(name, '=', '-');
  for (const std::string_view arch : {".x86_64", ".aarch64", ".noarch"}) {
    if (name.ends_with(arch)) {
      name.resize(name.size() - arch.size());
    }
  }
  return name;
}

bool IsThere(const PackageList& list, const std::string& asked) {
  const std::string name = WithoutArch(asked);
  return list.contains(name) || std::ranges::any_of(list, [&name](const auto& entry) {
           const std::string_view whole = entry.second.version;
           const std::string_view version = whole.substr(whole.find(':') + 1);
           return name == fmt::format("{}-{}", entry.first, version) ||
                  name == fmt::format("{}-{}", entry.first, version.substr(0, version.find('-')));
         });
}

// A key as the programs take it: "glibc:i686" is "glibc.i686".
std::string SpecOf(std::string key) {
  if (const size_t colon = key.rfind(':'); colon != std::string::npos) {
    key[colon] = '.';
  }
  return key;
}

// zypper wants a version behind "=", also where the key has it behind a minus.
std::string ZypperSpecOf(const std::string& key, const std::string& version) {
  const std::string end = fmt::format("-{}", version.substr(version.find(':') + 1));
  return key.ends_with(end) ? fmt::format("{}={}", key.substr(0, key.size() - end.size()),
                                          std::string_view(end).substr(1))
                            : SpecOf(key);
}

// zypper(8), "EXIT CODES": a restart is wished, or a repository was not reached that was not
// needed.
bool IsWell(Front front, const sys::RunResult& result) {
  const int code = result.exit.code.value_or(-1);
  return code == 0 || (front == Front::kZypper && (code == 102 || code == 103 || code == 106));
}

// yum installs the others and is content.
bool PassedOver(Front front, const sys::RunResult& result) {
  return front == Front::kYum && (result.out.find("No package ") != std::string::npos ||
                                  result.err.find("No package ") != std::string::npos);
}

std::vector<std::string> InstallArguments(Front front) {
  if (front == Front::kZypper) {
    // --oldpackage: the way back to what was there. A name without a version gets the newest
    // anyway.
    return {"--non-interactive", "install", "--auto-agree-with-licenses", "--oldpackage"};
  }
  return {"-y", "install"};
}

std::vector<std::string> RemoveArguments(Front front) {
  if (front == Front::kZypper) {
    return {"--non-interactive", "remove", "--no-clean-deps"};
  }
  return {"-y", "--setopt=clean_requirements_on_remove=False", "remove"};
}

}  // namespace

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

Status RpmManager::Install(const std::vector<std::string>& names) {
  RETURN_IF_ERROR(CheckNames(names));
  RETURN_IF_ERROR(calls_.CheckRoot());
  ASSIGN_OR_RETURN(const PackageList before, List());
  std::vector<std::string> argv = {program_};
  std::ranges::move(InstallArguments(front_), std::back_inserter(argv));
  const size_t fixed = argv.size();
  for (const std::string& name : names) {
    if (IsThere(before, name)) {
      continue;
    }
    argv.push_back(name);
    if (front_ != Front::kZypper && name.find('/') == std::string::npos) {
      std::ranges::replace(argv.back(), '=', '-');
    }
  }
  if (argv.size() == fixed) {
    return OkStatus();
  }
  const StatusOr<sys::RunResult> result = calls_.Run(std::move(argv), kChangeDeadline);
  if (!result.ok()) {
    return TakeBack(before, result.status());
  }
  if (IsWell(front_, *result) && !PassedOver(front_, *result)) {
    return OkStatus();
  }
  const Status failure = InstallFailure(calls_.host(), program_, names, *result);
  // Another manager was at work, and what came since is its.
  return failure.code() == StatusCode::kUnavailable ? failure : TakeBack(before, failure);
}

Status RpmManager::TakeBack(const PackageList& before, const Status& cause) const {
  StatusOr<PackageList> now = List();
  if (now.ok()) {
    if (const std::vector<std::string> came = CameSince(before, *now); !came.empty()) {
      // What it could not take off, the new list shows.
      RemoveNow(came, *now).IgnoreError();
      now = List();
    }
  }
  return WithRemains(cause, before, now);
}

Status RpmManager::RemoveNow(const std::vector<std::string>& keys, const PackageList& list) const {
  std::vector<std::string> argv = {program_};
  std::ranges::move(RemoveArguments(front_), std::back_inserter(argv));
  std::vector<std::string> erase = {rpm_, "--erase"};
  const size_t fixed = argv.size();
  for (const std::string& key : keys) {
    if (key.starts_with(kKey)) {
      erase.push_back(key);  // which the fronts do not take for packages
    } else {
      argv.push_back(front_ == Front::kZypper ? ZypperSpecOf(key, list.at(key).version)
                                              : SpecOf(key));
    }
  }
  if (argv.size() > fixed) {
    ASSIGN_OR_RETURN(const sys::RunResult result, calls_.Run(std::move(argv), kChangeDeadline));
    if (!IsWell(front_, result)) {
      return FailureOf(program_, fmt::format("remove {}", Join(keys, " ")), result);
    }
  }
  if (erase.size() > 2) {
    ASSIGN_OR_RETURN(const sys::RunResult result, calls_.Run(std::move(erase), kChangeDeadline));
    if (!result.IsSuccess()) {
      return FailureOf(rpm_, "remove keys", result);
    }
  }
  return OkStatus();
}

Status RpmManager::CheckRemoval(const std::vector<std::string>& keys) const {
  std::vector<std::string> argv = {rpm_, "--erase", "--test"};
  std::ranges::transform(keys, std::back_inserter(argv), SpecOf);
  ASSIGN_OR_RETURN(const sys::RunResult result, calls_.Run(std::move(argv), kQueryDeadline));
  if (result.IsSuccess()) {
    return OkStatus();
  }
  const std::vector<std::string> others =
      ParseRpmNeeds(fmt::format("{}\n{}", result.out, result.err));
  if (others.empty()) {
    return FailureOf(rpm_, fmt::format("remove {}", Join(keys, " ")), result);
  }
  return FailedPrecondition(
      "{}: removing {} would change others, too: {}: remove those first, or keep these", rpm_,
      Join(keys, ", "), Join(others, ", "));
}

Status RpmManager::Remove(const std::vector<std::string>& names) {
  RETURN_IF_ERROR(CheckNames(names));
  RETURN_IF_ERROR(calls_.CheckRoot());
  ASSIGN_OR_RETURN(const PackageList before, List());
  std::vector<std::string> doomed;
  std::ranges::copy_if(names, std::back_inserter(doomed),
                       [&before](const std::string& name) { return before.contains(name); });
  if (doomed.empty()) {
    return OkStatus();
  }
  RETURN_IF_ERROR(CheckRemoval(doomed));
  const Status removed = RemoveNow(doomed, before);
  ASSIGN_OR_RETURN(const PackageList now, List());
  std::vector<std::string> others;
  for (const auto& [name, package] : before) {
    if (!now.contains(name) && std::ranges::find(doomed, name) == doomed.end()) {
      others.push_back(name);
    }
  }
  std::erase_if(doomed, [&now](const std::string& name) { return !now.contains(name); });
  if (!doomed.empty()) {
    return removed.ok() ? FailedPrecondition("{}: {} stayed", program_, Join(doomed, ", "))
                        : Annotate(removed, "{} stayed", Join(doomed, ", "));
  }
  return others.empty() ? OkStatus()
                        : FailedPrecondition("{}: with them went: {}: install those again",
                                             program_, Join(others, ", "));
}

}  // namespace kgpu::packages
