#include "src/packages/rpm.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "src/base/status_macros.h"
#include "src/base/strings.h"
#include "src/packages/changes.h"
#include "src/packages/kept_files.h"
#include "src/sys/find_program.h"

namespace kgpu::packages {
namespace {

// "kernel-devel-5.14.0-1.el9.x86_64" as keys of a list are written.
std::string WithoutArch(std::string name) {
  for (const std::string_view arch : {".x86_64", ".aarch64", ".noarch"}) {
    if (name.ends_with(arch)) {
      name.resize(name.size() - arch.size());
    }
  }
  return name;
}

// What is asked for as "name=version".
struct Asked {
  std::string key;  // as Installed() has it, or the name alone
  std::string version;
};

// Nothing: no version is asked for, or it is a bound, a path or a URL.
std::optional<Asked> ParseAsked(const std::string& asked) {
  const size_t equals = asked.rfind('=');
  if (equals == std::string::npos || asked.find_first_of("</>") != std::string::npos) {
    return std::nullopt;
  }
  return Asked{.key = asked.substr(0, equals), .version = asked.substr(equals + 1)};
}

// Whether "5.14.0" or "5.14.0-1" was meant by "3:5.14.0-1".
bool IsOfVersion(std::string_view version, std::string_view wanted) {
  const std::string_view plain = WithoutEpoch(version);
  return wanted == version || wanted == plain || wanted == plain.substr(0, plain.find('-'));
}

bool IsThere(const PackageList& list, const std::string& asked) {
  if (const std::optional<Asked> exact = ParseAsked(asked); exact) {
    return std::ranges::any_of(list, [&exact](const auto& entry) {
      const auto& [key, package] = entry;
      return (key == exact->key || NameOf(key, package.version) == exact->key) &&
             IsOfVersion(package.version, exact->version);
    });
  }
  const std::string name = WithoutArch(asked);
  return list.contains(name) || std::ranges::any_of(list, [&name](const auto& entry) {
           const std::string_view version = WithoutEpoch(entry.second.version);
           return name == fmt::format("{}-{}", entry.first, version) ||
                  name == fmt::format("{}-{}", entry.first, version.substr(0, version.find('-')));
         });
}

std::vector<std::string> Missing(const std::vector<std::string>& names, const PackageList& list) {
  std::vector<std::string> missing;
  std::ranges::copy_if(names, std::back_inserter(missing),
                       [&list](const std::string& name) { return !IsThere(list, name); });
  return missing;
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
  const std::string name = NameOf(key, version);
  return name == key ? SpecOf(key) : fmt::format("{}={}", SpecOf(name), WithoutEpoch(version));
}

// A package in its very version: "glibc-2:2.34-1.el9.i686" for dnf, "glibc.i686=2:2.34-1" for
// zypper. A key that has its version in it already has it without the epoch. Source: dnf(8),
// "SPECIFYING PACKAGES"; zypper(8), "install".
std::string WholeSpecOf(Front front, const std::string& key, const std::string& version) {
  const std::string name = NameOf(key, version);
  if (front == Front::kZypper) {
    return fmt::format("{}={}", SpecOf(name), version);
  }
  const size_t colon = name.rfind(':');
  const std::string arch =
      colon == std::string::npos ? "" : fmt::format(".{}", name.substr(colon + 1));
  return fmt::format("{}-{}{}", name.substr(0, colon), version, arch);
}

// What is asked for, as an installation takes it.
std::string InstallSpecOf(Front front, const std::string& asked) {
  const std::optional<Asked> exact = ParseAsked(asked);
  return exact ? WholeSpecOf(front, exact->key, exact->version) : asked;
}

// The key of what rpm names "name-version-release.arch"; empty: the list has no such package.
std::string KeyOf(const PackageList& list, std::string_view named) {
  for (const auto& [key, package] : list) {
    const std::string name = key.substr(0, key.rfind(':'));
    const std::string_view version =
        std::string_view(package.version).substr(package.version.find(':') + 1);
    const std::string whole = name.ends_with(version) ? name : fmt::format("{}-{}", name, version);
    const bool is_of_key =
        named.starts_with(whole) ||
        named.starts_with(fmt::format("{}-{}", name, std::string_view(package.version)));
    const size_t colon = key.rfind(':');
    if (is_of_key && (colon == std::string::npos || named.ends_with(key.substr(colon + 1)))) {
      return key;
    }
  }
  return "";
}

bool IsWell(Front front, const sys::RunResult& result) {
  return front == Front::kZypper ? IsZypperContent(result) : result.IsSuccess();
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

// The same without doing it: where a program asks before it begins, the answer is no.
std::vector<std::string> TrialArguments(Front front) {
  if (front == Front::kZypper) {
    return {"--non-interactive", "--xmlout",     "install",
            "--dry-run",         "--oldpackage", "--auto-agree-with-licenses"};
  }
  return {"--assumeno", "install"};
}

// "No" is an error to them, and only what they say tells it from others: dnf of version 4 and 5,
// yum.
bool IsNo(const sys::RunResult& result) {
  const std::string text = fmt::format("{}\n{}", result.out, result.err);
  return text.find("Operation aborted") != std::string::npos ||
         text.find("Exiting on user command") != std::string::npos;
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

StatusOr<std::set<std::string>> RpmManager::Unfinished() {
  return std::set<std::string>();  // rpm lists what failed like any other
}

StatusOr<Foreseen> RpmManager::Try(const std::vector<std::string>& missing) const {
  std::vector<std::string> argv = {program_};
  std::ranges::move(TrialArguments(front_), std::back_inserter(argv));
  for (const std::string& name : missing) {
    argv.push_back(InstallSpecOf(front_, name));
  }
  // What the lists of packages are older than may be read anew first.
  ASSIGN_OR_RETURN(const sys::RunResult result, calls_.Run(std::move(argv), kChangeDeadline));
  const bool is_zypper = front_ == Front::kZypper;
  const bool is_well = IsWell(front_, result) || (!is_zypper && IsNo(result));
  if (!is_well || PassedOver(front_, result)) {
    return FailureOf(program_, fmt::format("install {}", Join(missing, " ")), result);
  }
  return Foreseen{.names = is_zypper ? ParseZypperTrial(result.out)
                                     : ParseDnfTrial(fmt::format("{}\n{}", result.out, result.err)),
                  .configured = {}};
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
  std::vector<std::string> argv = {program_};
  std::ranges::move(InstallArguments(front_), std::back_inserter(argv));
  for (const std::string& name : missing) {
    argv.push_back(InstallSpecOf(front_, name));
  }
  const StatusOr<sys::RunResult> result = calls_.Run(std::move(argv), kChangeDeadline);
  if (!result.ok()) {
    return TakeBack(before, foreseen, result.status());
  }
  if (IsWell(front_, *result) && !PassedOver(front_, *result)) {
    return OkStatus();
  }
  const Status failure = InstallFailure(calls_.host(), program_, names, *result);
  // Another manager was at work, and what came since is its.
  return failure.code() == StatusCode::kUnavailable ? failure : TakeBack(before, foreseen, failure);
}

Status RpmManager::TakeBack(const PackageList& before, const Foreseen& foreseen,
                            const Status& cause) const {
  Hand hand;
  hand.list = [this] { return List(); };
  hand.take_off = [this](const std::vector<std::string>& names, const PackageList& now) {
    RETURN_IF_ERROR(CheckRemoval(names));
    return RemoveNow(names, now);
  };
  return packages::TakeBack(cause, before, foreseen, hand);
}

Status RpmManager::RemoveNow(const std::vector<std::string>& keys, const PackageList& list) const {
  std::vector<std::string> argv = {program_};
  std::ranges::move(RemoveArguments(front_), std::back_inserter(argv));
  std::vector<std::string> erase = {rpm_, "--erase"};
  const size_t fixed = argv.size();
  for (const std::string& key : keys) {
    if (key.starts_with(kRpmKey)) {
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

StatusOr<std::vector<std::string>> RpmManager::NeederOf(
    const std::vector<std::string>& keys) const {
  std::vector<std::string> argv = {rpm_, "--erase", "--test"};
  std::ranges::transform(keys, std::back_inserter(argv), SpecOf);
  ASSIGN_OR_RETURN(const sys::RunResult result, calls_.Run(std::move(argv), kQueryDeadline));
  if (result.IsSuccess()) {
    return std::vector<std::string>();
  }
  std::vector<std::string> others = ParseRpmNeeds(fmt::format("{}\n{}", result.out, result.err));
  if (others.empty()) {
    return FailureOf(rpm_, fmt::format("remove {}", Join(keys, " ")), result);
  }
  return others;
}

Status RpmManager::CheckRemoval(const std::vector<std::string>& keys) const {
  ASSIGN_OR_RETURN(const std::vector<std::string> others, NeederOf(keys));
  if (others.empty()) {
    return OkStatus();
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

StatusOr<std::vector<std::string>> RpmManager::GoWith(const std::vector<std::string>& names) {
  RETURN_IF_ERROR(CheckNames(names));
  ASSIGN_OR_RETURN(const PackageList list, List());
  std::vector<std::string> doomed;
  std::ranges::copy_if(names, std::back_inserter(doomed),
                       [&list](const std::string& name) { return list.contains(name); });
  std::vector<std::string> others;
  // rpm names those that need one directly: what needs these goes as well.
  for (bool has_more = !doomed.empty(); has_more;) {
    ASSIGN_OR_RETURN(const std::vector<std::string> needers, NeederOf(doomed));
    has_more = false;
    for (const std::string& needer : needers) {
      std::string key = KeyOf(list, needer);
      if (!key.empty() && std::ranges::find(doomed, key) == doomed.end()) {
        doomed.push_back(key);
        has_more = true;
        others.push_back(std::move(key));
      }
    }
  }
  return others;
}

Status RpmManager::TakeOff(const std::vector<std::string>& names) {
  return Remove(names);  // rpm itself keeps files of the configuration that were changed
}

Status RpmManager::Keep(const std::vector<std::string>& names, const std::string& folder) {
  RETURN_IF_ERROR(CheckNames(names));
  ASSIGN_OR_RETURN(const PackageList list, List());
  std::vector<std::string> argv = {program_, "-y", "download", "--setopt=*.module_hotfixes=1",
                                   fmt::format("--destdir={}", folder)};
  if (front_ == Front::kZypper) {
    argv = {program_, "--non-interactive", fmt::format("--pkg-cache-dir={}", folder), "download"};
  }
  for (const std::string& name : names) {
    const auto found = list.find(name);
    if (found == list.end()) {
      return FailedPrecondition("{}: is not installed, and can not be kept", name);
    }
    argv.push_back(WholeSpecOf(front_, name, found->second.version));
  }
  ASSIGN_OR_RETURN(const sys::RunResult result, calls_.Run(std::move(argv), kChangeDeadline));
  return IsWell(front_, result) ? CheckKept(calls_.host(), folder, ".rpm", names.size())
                                : FailureOf(program_, "fetch packages as they are here", result);
}

// By rpm itself: the fronts hide packages of streams that are not chosen, and what these need is
// here, as only they were taken off.
Status RpmManager::PutBack(const std::string& folder) {
  RETURN_IF_ERROR(calls_.CheckRoot());
  std::vector<std::string> argv = {rpm_, "--upgrade", "--oldpackage", "--replacepkgs"};
  std::ranges::move(FilesBelow(calls_.host(), folder, ".rpm"), std::back_inserter(argv));
  ASSIGN_OR_RETURN(const sys::RunResult result, calls_.Run(std::move(argv), kChangeDeadline));
  return result.IsSuccess() ? OkStatus() : InstallFailure(calls_.host(), rpm_, {folder}, result);
}

}  // namespace kgpu::packages
