// Removes packages of dpkg: exactly those that are named, even if apt sees something
// broken.
#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "src/host/packages/apt.h"
#include "src/host/packages/changes.h"
#include "src/host/packages/service_policy.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::packages {
namespace {

// The changes of a simulation besides `names`.
std::vector<std::string> OthersThan(const std::vector<std::string>& names,
                                    const Simulated& simulated) {
  std::vector<std::string> others = simulated.installed;
  std::ranges::copy_if(
      simulated.removed, std::back_inserter(others),
      [&names](const std::string& name) { return std::ranges::find(names, name) == names.end(); });
  return others;
}

}  // namespace

Status AptManager::PurgeBut(const std::vector<std::string>& names,
                            const std::set<std::string>& configured) const {
  std::vector<std::string> whole = names;
  std::erase_if(whole, [&](const std::string& name) { return configured.contains(name); });
  // All of them at once, as they may need one another: what is left then is configuration.
  if (whole.size() < names.size()) {
    RETURN_IF_ERROR(RemoveNow("remove", names));
  }
  return whole.empty() ? OkStatus() : RemoveNow("purge", whole);
}

Status AptManager::RemoveNow(const std::string& verb, const std::vector<std::string>& names) const {
  ASSIGN_OR_RETURN(const sys::RunResult result, AptGet(Concat({verb}, names), kChangeDeadline));
  if (result.IsSuccess()) {
    return OkStatus();
  }
  // apt-get gives up where it sees what is broken; dpkg takes these, and only these.
  ASSIGN_OR_RETURN(const PackageList now, List());
  std::vector<std::string> argv = {dpkg_, "--force-remove-reinstreq", fmt::format("--{}", verb)};
  std::ranges::copy_if(names, std::back_inserter(argv), [&](const std::string& name) {
    return verb == "purge" ? now.contains(name) : IsPresent(now, name);
  });
  if (argv.size() == 3) {
    return OkStatus();
  }
  return calls_.Do("remove packages", std::move(argv), kChangeDeadline).status();
}

Status AptManager::CheckRemoval(const std::vector<std::string>& names, bool has_unfinished) const {
  const std::string action = fmt::format("remove {}", Join(names, " "));
  ASSIGN_OR_RETURN(const sys::RunResult result,
                   AptGet(Concat({"--simulate", "purge"}, names), kQueryDeadline));
  if (!result.IsSuccess() && !has_unfinished) {
    return FailureOf(apt_get_, action, result);
  }
  if (!result.IsSuccess()) {
    // apt-get cannot report on broken packages, dpkg can.
    return calls_
        .Do(action, Concat({dpkg_, "--no-act", "--force-remove-reinstreq", "--purge"}, names),
            kQueryDeadline)
        .status();
  }
  const std::vector<std::string> others = OthersThan(names, ParseAptSimulation(result.out));
  if (others.empty()) {
    return OkStatus();
  }
  return FailedPrecondition(
      "{}: removing {} would also change others: {}: remove those first, or keep these", apt_get_,
      Join(names, ", "), Join(others, ", "));
}

Status AptManager::Remove(const std::vector<std::string>& names) {
  return RemoveBy("purge", names);
}

StatusOr<std::vector<std::string>> AptManager::ChangedConfigs(const std::vector<std::string>&) {
  return std::vector<std::string>();
}

Status AptManager::TakeOff(const std::vector<std::string>& names) {
  return RemoveBy("remove", names);
}

Status AptManager::RemoveBy(const std::string& verb, const std::vector<std::string>& names) const {
  const auto is_there = [&verb](const PackageList& list, const std::string& name) {
    return verb == "purge" ? list.contains(name) : IsPresent(list, name);
  };
  RETURN_IF_ERROR(CheckNames(names));
  RETURN_IF_ERROR(calls_.CheckRoot());
  ASSIGN_OR_RETURN(const auto quiet, QuietServices(calls_.host()));
  ASSIGN_OR_RETURN(const PackageList before, List());
  std::vector<std::string> doomed;
  std::ranges::copy_if(names, std::back_inserter(doomed),
                       [&](const std::string& name) { return is_there(before, name); });
  if (doomed.empty()) {
    return OkStatus();
  }
  // A module need not be built before its package is removed.
  if (HasUnfinished(before, doomed)) {
    RETURN_IF_ERROR(Configure());
  } else if (WasInterrupted()) {
    RETURN_IF_ERROR(calls_.Run({dpkg_, "--triggers-only", "-a"}, kChangeDeadline).status());
  }
  RETURN_IF_ERROR(CheckRemoval(doomed, HasUnfinished(before)));
  const Status removed = RemoveNow(verb, doomed);
  ASSIGN_OR_RETURN(const PackageList now, List());
  std::erase_if(doomed, [&](const std::string& name) { return !is_there(now, name); });
  if (doomed.empty()) {
    return OkStatus();
  }
  return removed.ok() ? FailedPrecondition("{}: {} was not removed", apt_get_, Join(doomed, ", "))
                      : Annotate(removed, "{} was not removed", Join(doomed, ", "));
}

StatusOr<std::vector<std::string>> AptManager::GoWith(const std::vector<std::string>& names) {
  RETURN_IF_ERROR(CheckNames(names));
  ASSIGN_OR_RETURN(const PackageList list, List());
  std::vector<std::string> arguments = {"--simulate", "remove"};
  std::ranges::copy_if(names, std::back_inserter(arguments),
                       [&list](const std::string& name) { return IsPresent(list, name); });
  if (arguments.size() == 2) {
    return std::vector<std::string>();
  }
  ASSIGN_OR_RETURN(const sys::RunResult result, AptGet(std::move(arguments), kQueryDeadline));
  if (!result.IsSuccess()) {
    return FailureOf(apt_get_, fmt::format("remove {}", Join(names, " ")), result);
  }
  return OthersThan(names, ParseAptSimulation(result.out));
}

}  // namespace kgpu::packages
