// `kgpu driver verify`, and the part of it that `kgpu driver install` runs if kgpu has already
// installed a driver: does it match the request, and is it complete?
#pragma once

#include "src/cli/base/command_registrar.h"
#include "src/cli/driver/driver_host.h"
#include "src/cli/driver/driver_request.h"
#include "src/platform/base/status.h"
#include "src/setup/driver_install/carry_out.h"
#include "src/setup/driver_install/journal.h"

namespace kgpu::cli {

// How kgpu's driver differs from the request, for people; empty: it does not. Errors:
// InvalidArgument (a flag).
StatusOr<std::string> OtherRequest(const DriverOptions& options,
                                   const driver_install::Journal& journal, DriverHost& host);
// Refuses to install another driver over an unfinished one. Errors: FailedPrecondition (the
// differences, with the fix), InvalidArgument (a flag).
Status CheckSameRequest(const DriverOptions& options, const driver_install::Journal& journal,
                        DriverHost& host);

// Whether --kernel names a kernel of the host that lacks the driver's module.
bool LacksKernel(const DriverOptions& options, const DriverHost& host);
// Refuses to reinstall the driver for a kernel that does not run: the running one would lose its
// driver. Errors: FailedPrecondition (with the fix).
Status CheckRunningKernel(const DriverOptions& options, const driver_install::Journal& journal,
                          const DriverHost& host);

// Verifies the installed driver like `kgpu driver verify`. Errors: FailedPrecondition (what is
// wrong, with the fix).
StatusOr<driver_install::Outcome> LookAgain(const DriverOptions& options,
                                            const driver_install::Journal& journal,
                                            const driver_install::Options& work, DriverHost& host);

// Adds it to the group `kgpu driver`.
void AddDriverVerifyCommand(CLI::App& group, CommandRegistrar& registrar);

}  // namespace kgpu::cli
