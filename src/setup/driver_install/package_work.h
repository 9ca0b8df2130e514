// What the actions that put packages on and those that take them off have in common.
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

// Whether the same may go well when it is tried later: the lock was another manager's, or the time
// was over.
bool IsTransient(const Status& status);

// "name=version" of all of them.
std::vector<std::string> WithVersions(const Versions& versions);

// All of them in one call, as one may need the other in its version; what there is of them else.
// What may go well later is an error: what is noted is never tried again.
Status InstallOrNote(Work& work, packages::PackageManager& manager,
                     const std::vector<std::string>& names);

}  // namespace kgpu::driver_install
