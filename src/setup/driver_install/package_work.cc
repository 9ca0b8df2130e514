#include "src/setup/driver_install/package_work.h"

#include <fmt/format.h>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::driver_install {

StatusOr<packages::PackageManager*> ManagerOf(const Work& work) {
  if (work.deps().packages == nullptr) {
    return FailedPrecondition(
        "{}: no supported package manager (apt, dnf, yum, zypper): install the driver with "
        "--source FILE.run",
        work.host().path());
  }
  return work.deps().packages;
}

bool IsTransient(const Status& status) {
  return status.code() == StatusCode::kUnavailable ||
         status.code() == StatusCode::kDeadlineExceeded || status.code() == StatusCode::kCancelled;
}

std::vector<std::string> WithVersions(const Versions& versions) {
  std::vector<std::string> names;
  for (const auto& [name, version] : versions) {
    names.push_back(fmt::format("{}={}", name, version));
  }
  return names;
}

Status InstallOrNote(Work& work, packages::PackageManager& manager,
                     const std::vector<std::string>& names) {
  if (const Status all = manager.Install(names); all.ok() || IsTransient(all)) {
    return all;
  }
  for (const std::string& name : names) {
    const Status back = manager.Install({name});
    if (IsTransient(back)) {
      return back;
    }
    if (!back.ok()) {
      const size_t equals = name.find('=');
      work.NoteLost(fmt::format("{} {} was installed before and cannot be restored: {}",
                                Printable(name.substr(0, equals), 80),
                                Printable(name.substr(equals + 1), 80), Message(back)));
    }
  }
  return OkStatus();
}

}  // namespace kgpu::driver_install
