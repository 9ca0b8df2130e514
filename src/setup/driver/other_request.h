// Compares a request with an earlier plan.
#pragma once

#include <string>

#include "src/platform/base/status.h"
#include "src/setup/driver/choice.h"
#include "src/setup/driver/plan.h"
#include "src/setup/driver/verify.h"

namespace kgpu::driver {

// What `request` asks for that `plan` does not have, for people: "its modules are the proprietary
// ones, not the open ones"; empty: it has everything. `file_version` is that of the file that
// --source names; empty: none. Pure. Errors: InvalidArgument, naming the flag.
StatusOr<std::string> OtherThanAsked(const Request& request, const Plan& plan,
                                     const std::string& file_version);

// Fills in what is not requested from the driver that `ours` installed: branch, source, kind,
// display. Pure.
Request KeepRequest(Request request, const Plan& ours);

// What can be requested of an installed driver. Errors: InvalidArgument, naming the flag.
StatusOr<Demands> DemandsOf(const Request& request);

}  // namespace kgpu::driver
