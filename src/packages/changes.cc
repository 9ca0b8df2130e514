#include "src/packages/changes.h"

#include <fmt/format.h>

#include "src/base/strings.h"

namespace kgpu::packages {
namespace {

std::vector<std::string> ChangedSince(const PackageList& before, const PackageList& now) {
  std::vector<std::string> changed;
  for (const auto& [name, package] : now) {
    if (IsPresent(before, name) && before.at(name).version != package.version) {
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

std::string Remains(const PackageList& before, const StatusOr<PackageList>& now) {
  if (!now.ok()) {
    return fmt::format("what came with it may still be there: {}", Message(now.status()));
  }
  const std::vector<std::string> came = CameSince(before, *now);
  const std::vector<std::string> changed = ChangedSince(before, *now);
  std::string text = came.empty() ? "nothing that came with it is left"
                                  : fmt::format("still there: {}", Join(came, ", "));
  if (!changed.empty()) {
    text = fmt::format("{}; of another version now: {}", text, Join(changed, ", "));
  }
  if (const std::vector<std::string> gone = GoneSince(before, *now); !gone.empty()) {
    text = fmt::format("{}; gone: {}", text, Join(gone, ", "));
  }
  return text;
}

}  // namespace

bool IsPresent(const PackageList& list, const std::string& name) {
  const auto found = list.find(name);
  return found != list.end() && found->second.state != State::kConfigOnly;
}

std::vector<std::string> CameSince(const PackageList& before, const PackageList& now) {
  std::vector<std::string> came;
  for (const auto& [name, package] : now) {
    if (package.state != State::kConfigOnly && !IsPresent(before, name)) {
      came.push_back(name);
    }
  }
  return came;
}

Status WithRemains(const Status& cause, const PackageList& before,
                   const StatusOr<PackageList>& now) {
  return MakeStatus(cause.code(), fmt::format("{}; {}", Message(cause), Remains(before, now)));
}

}  // namespace kgpu::packages
