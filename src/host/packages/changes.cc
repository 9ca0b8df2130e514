#include "src/host/packages/changes.h"

#include <algorithm>

#include <fmt/format.h>

#include "src/platform/base/strings.h"

namespace kgpu::packages {
namespace {

std::vector<std::string> ChangedSince(const PackageList& before, const PackageList& now,
                                      const Foreseen& foreseen) {
  std::vector<std::string> changed;
  for (const auto& [name, package] : now) {
    if (IsPresent(before, name) && before.at(name).version != package.version &&
        foreseen.Has(name, package.version)) {
      changed.push_back(fmt::format("{} {}", name, package.version));
    }
  }
  return changed;
}

std::vector<std::string> GoneSince(const PackageList& before, const PackageList& now) {
  std::vector<std::string> gone;
  for (const auto& [name, package] : before) {
    if (IsPresent(before, name) && !IsPresent(now, name)) {
      gone.push_back(name);
    }
  }
  return gone;
}

// Packages that are there now, with more than their configuration, and were not before.
std::vector<std::string> CameSince(const PackageList& before, const PackageList& now,
                                   const Foreseen& foreseen) {
  std::vector<std::string> came;
  for (const auto& [name, package] : now) {
    if (package.state != State::kConfigOnly && !IsPresent(before, name) &&
        foreseen.Has(name, package.version)) {
      came.push_back(name);
    }
  }
  return came;
}

std::string Remains(const PackageList& before, const Foreseen& foreseen,
                    const StatusOr<PackageList>& now) {
  if (!now.ok()) {
    return fmt::format("packages installed with it may remain: {}", Message(now.status()));
  }
  const std::vector<std::string> came = CameSince(before, *now, foreseen);
  const std::vector<std::string> changed = ChangedSince(before, *now, foreseen);
  std::string text = came.empty() ? "all packages installed with it are removed"
                                  : fmt::format("still installed: {}", Join(came, ", "));
  if (!changed.empty()) {
    text = fmt::format("{}; now in another version: {}", text, Join(changed, ", "));
  }
  if (const std::vector<std::string> gone = GoneSince(before, *now); !gone.empty()) {
    text = fmt::format("{}; removed: {}", text, Join(gone, ", "));
  }
  return text;
}

Status TakeBack(const Status& cause, const PackageList& before, const Foreseen& foreseen,
                const Hand& hand) {
  StatusOr<PackageList> now = hand.list();
  if (now.ok()) {
    const std::vector<std::string> came = CameSince(before, *now, foreseen);
    if (!came.empty()) {
      // The new list shows what could not be removed.
      hand.take_off(came, *now).IgnoreError();
      now = hand.list();
    }
  }
  return MakeStatus(cause.code(),
                    fmt::format("{}; {}", Message(cause), Remains(before, foreseen, now)));
}

}  // namespace

bool IsPresent(const PackageList& list, const std::string& name) {
  const auto found = list.find(name);
  return found != list.end() && found->second.state != State::kConfigOnly;
}

std::set<std::string> UnfinishedOf(const PackageList& list) {
  std::set<std::string> names;
  for (const auto& [name, package] : list) {
    if (package.state == State::kUnfinished) {
      names.insert(name);
    }
  }
  return names;
}

bool HasUnfinished(const PackageList& list, const std::vector<std::string>& except) {
  return std::ranges::any_of(list, [&except](const auto& entry) {
    return entry.second.state == State::kUnfinished &&
           std::ranges::find(except, entry.first) == except.end();
  });
}

Status EndFailed(const Calls& calls, std::string_view program,
                 const std::vector<std::string>& names, const StatusOr<sys::RunResult>& result,
                 const PackageList& before, const Foreseen& foreseen, const Hand& hand) {
  if (!result.ok()) {
    return TakeBack(result.status(), before, foreseen, hand);
  }
  const Status failure = InstallFailure(calls.host(), program, names, *result);
  return failure.code() == StatusCode::kUnavailable ? failure
                                                    : TakeBack(failure, before, foreseen, hand);
}

}  // namespace kgpu::packages
