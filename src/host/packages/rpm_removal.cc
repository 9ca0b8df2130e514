// Removes packages of rpm: exactly those that are named.
#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "src/host/packages/rpm.h"
#include "src/host/packages/rpm_front.h"
#include "src/host/packages/rpm_specs.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::packages {

Status RpmManager::RemoveNow(const std::vector<std::string>& keys, const PackageList& list) const {
  std::vector<std::string> argv = Concat({program_}, RemoveArguments(front_));
  std::vector<std::string> erase = {rpm_, "--erase"};
  const size_t fixed = argv.size();
  for (const std::string& key : keys) {
    if (key.starts_with(kRpmKey)) {
      erase.push_back(key);  // which the fronts do not take for packages
    } else {
      argv.push_back(RemovalSpecOf(front_, key, list.at(key).version));
    }
  }
  if (argv.size() > fixed) {
    ASSIGN_OR_RETURN(const sys::RunResult result, calls_.Run(std::move(argv), kChangeDeadline));
    if (!IsHealthy(front_, result)) {
      return FailureOf(program_, fmt::format("remove {}", Join(keys, " ")), result);
    }
  }
  if (erase.size() > 2) {
    return calls_.Do("remove keys", std::move(erase), kChangeDeadline).status();
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

StatusOr<std::vector<std::string>> RpmManager::OthersOfTrial(const std::vector<std::string>& keys,
                                                             const PackageList& list) const {
  std::vector<std::string> argv = Concat({program_}, RemovalTrialArguments(front_));
  const size_t fixed = argv.size();
  std::set<std::string> own;
  for (const std::string& key : keys) {
    if (key.starts_with(kRpmKey)) {
      continue;
    }
    const std::string& version = list.at(key).version;
    argv.push_back(RemovalSpecOf(front_, key, version));
    own.insert(NameOf(key, version));
  }
  if (argv.size() == fixed) {
    return std::vector<std::string>();
  }
  ASSIGN_OR_RETURN(const sys::RunResult result, calls_.Run(std::move(argv), kQueryDeadline));
  if (!IsTrialHealthy(front_, result)) {
    return FailureOf(program_, fmt::format("remove {}", Join(keys, " ")), result);
  }
  std::vector<std::string> others;
  std::ranges::set_difference(NamesOfTrial(front_, result), own, std::back_inserter(others));
  return others;
}

Status RpmManager::CheckRemoval(const std::vector<std::string>& keys,
                                const PackageList& list) const {
  ASSIGN_OR_RETURN(std::vector<std::string> others, NeederOf(keys));
  const std::string& asked = others.empty() ? program_ : rpm_;
  if (others.empty()) {
    ASSIGN_OR_RETURN(others, OthersOfTrial(keys, list));
  }
  if (others.empty()) {
    return OkStatus();
  }
  return FailedPrecondition(
      "{}: removing {} would also change others: {}: remove those first, or keep these", asked,
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
  RETURN_IF_ERROR(CheckRemoval(doomed, before));
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
    return removed.ok() ? FailedPrecondition("{}: {} was not removed", program_, Join(doomed, ", "))
                        : Annotate(removed, "{} was not removed", Join(doomed, ", "));
  }
  return others.empty() ? OkStatus()
                        : FailedPrecondition("{}: this also removed {}: install those again",
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
  if (doomed.empty()) {
    return others;
  }
  ASSIGN_OR_RETURN(std::vector<std::string> more, OthersOfTrial(doomed, list));
  std::ranges::move(more, std::back_inserter(others));
  return others;
}

StatusOr<std::vector<std::string>> RpmManager::ChangedConfigs(
    const std::vector<std::string>& names) {
  RETURN_IF_ERROR(CheckNames(names));
  ASSIGN_OR_RETURN(const PackageList list, List());
  std::vector<std::string> argv = {rpm_, "--verify", "--nodeps", "--noscripts"};
  const size_t fixed = argv.size();
  for (const std::string& name : names) {
    if (list.contains(name)) {
      argv.push_back(SpecOf(name));
    }
  }
  if (argv.size() == fixed) {
    return std::vector<std::string>();
  }
  // It ends with an error where anything differs; all files of the driver are read.
  ASSIGN_OR_RETURN(const sys::RunResult result, calls_.Run(std::move(argv), kChangeDeadline));
  return ParseRpmVerify(result.out);
}

Status RpmManager::TakeOff(const std::vector<std::string>& names) {
  return Remove(names);  // rpm itself keeps files of the configuration that were changed
}

}  // namespace kgpu::packages
