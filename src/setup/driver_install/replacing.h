// What else is removed with the packages that another driver replaces, determined before anything
// is changed.
#pragma once

#include <vector>

#include "src/host/facts/installed_packages.h"
#include "src/host/packages/package_manager.h"
#include "src/setup/driver/plan.h"
#include "src/setup/driver/preflight.h"

namespace kgpu::driver_install {

// Completes the step of a plan that removes packages: adds those of other architectures, and the
// driver's version-independent daemon and tools if they depend on what is removed; these are
// reinstalled with the new driver. Reports other packages that would be removed as blockers: only
// the admin may remove them. A plan without such a step stays as it is. `here` receives the
// versions of what the step removes, under their installed names.
driver::Findings CompleteRemoval(driver::Plan& plan, packages::PackageManager& manager,
                                 host::Packages& here);

}  // namespace kgpu::driver_install
