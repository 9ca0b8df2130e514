// What goes with the packages that give way to another driver, found out before anything is
// touched.
#pragma once

#include <vector>

#include "src/host/facts/installed_packages.h"
#include "src/host/packages/package_manager.h"
#include "src/setup/driver/plan.h"
#include "src/setup/driver/preflight.h"

namespace kgpu::driver_install {

// Completes the step of a plan that takes packages off: those of other architectures go as well,
// and so do the driver's daemon and tools that serve every version where they need what goes; these
// are installed again with the new driver. Finds, as a blocker, others that would go: they are
// nobody's but the admin's to remove. A plan without such a step stays as it is. `here` gets the
// versions of what the step takes off, under the names it has there.
driver::Findings CompleteRemoval(driver::Plan& plan, packages::PackageManager& manager,
                                 host::Packages& here);

}  // namespace kgpu::driver_install
