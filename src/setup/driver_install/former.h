// A driver by kgpu that gives way to another one.
#pragma once

#include "src/setup/driver/host_facts.h"
#include "src/setup/driver/plan.h"
#include "src/setup/driver_install/journal.h"

namespace kgpu::driver_install {

// The plan that installs the journal's driver again: its driver packages in the versions that it
// brought.
driver::Plan PlanToReinstall(const Journal& journal);

// Changes the facts into those of the host without the journal's driver, so that another driver can
// be planned and checked before this one is removed.
void ForgetDriver(const Journal& journal, driver::HostFacts& facts);

}  // namespace kgpu::driver_install
