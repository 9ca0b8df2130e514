// Shared by the actions that install packages and those that remove them.
#pragma once

#include <string>
#include <vector>

#include "src/host/packages/package_manager.h"
#include "src/platform/base/status.h"
#include "src/setup/driver_install/journal.h"
#include "src/setup/driver_install/work.h"

namespace kgpu::driver_install {

// Errors: FailedPrecondition (the host has none that kgpu knows).
StatusOr<packages::PackageManager*> ManagerOf(const Work& work);

// Whether a later retry may succeed: another manager held the lock, or the time was
// over.
bool IsTransient(const Status& status);

// "name=version" for each.
std::vector<std::string> WithVersions(const Versions& versions);

// All of them in one call, as one may need another in its exact version; else those that are
// available. A failure that a retry may fix is an error: what is only noted is never tried again.
Status InstallOrNote(Work& work, packages::PackageManager& manager,
                     const std::vector<std::string>& names);

}  // namespace kgpu::driver_install
