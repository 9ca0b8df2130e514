// Why the driver does not answer, for the snapshot. Pure except for reading the host's facts.
#pragma once

#include <string>

#include "src/gpu/device/snapshot.h"
#include "src/gpu/probe/client.h"
#include "src/host/inspect/driver_facts.h"
#include "src/node/inventory/assemble.h"
#include "src/platform/base/clock.h"

namespace kgpu::inventory {

// What to tell people about a driver that has not answered since `since`, with the fix.
std::string ExplainSilence(WallTime since);

// The driver section of a snapshot while the probe does not answer.
device::Driver ExplainDown(const probe::Down& down, const host::DriverFacts& facts,
                           const HostView& view);

// The health of every known GPU while `driver` is not ready.
device::Health HealthWithout(const device::Driver& driver);

// The driver section of a snapshot from the driver's answers.
device::Driver ReadyDriver(const probe::DriverReport& report, const std::string& library_path,
                           const sys::Root& host);

// Whether a new probe may recover: the library crashed, or could not initialise again.
bool IsPassing(const probe::Down& down);

}  // namespace kgpu::inventory
