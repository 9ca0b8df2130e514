// `kgpu driver verify`, and what `kgpu driver install` has of it where kgpu has installed a driver
// already: is it what is asked for, and is it whole?
#pragma once

#include "src/cli/command_registrar.h"
#include "src/cli/driver_host.h"
#include "src/cli/driver_request.h"
#include "src/platform/base/status.h"
#include "src/setup/driver_install/carry_out.h"
#include "src/setup/driver_install/journal.h"

namespace kgpu::cli {

// What is asked for and the driver by kgpu does not have, for people; empty: it has all of it.
// Errors: InvalidArgument (a flag).
StatusOr<std::string> OtherRequest(const DriverOptions& options,
                                   const driver_install::Journal& journal, DriverHost& host);
// Another driver than one that is not finished is not brought over it. Errors: FailedPrecondition
// (what differs, with the fix), InvalidArgument (a flag).
Status CheckSameRequest(const DriverOptions& options, const driver_install::Journal& journal,
                        DriverHost& host);

// Whether --kernel names a kernel of the host that has no module of the driver: it can be added.
bool LacksKernel(const DriverOptions& options, const DriverHost& host);

// Verifies what is installed as `kgpu driver verify` does. Errors: FailedPrecondition (what is
// wrong, with the fix).
StatusOr<driver_install::Outcome> LookAgain(const DriverOptions& options,
                                            const driver_install::Journal& journal,
                                            const driver_install::Options& work, DriverHost& host);

// Adds it to the group `kgpu driver`.
void AddDriverVerifyCommand(CLI::App& group, CommandRegistrar& registrar);

}  // namespace kgpu::cli
