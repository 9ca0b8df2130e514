// What is asked for against what was planned before.
#pragma once

#include <string>

#include "src/platform/base/status.h"
#include "src/setup/driver/choice.h"
#include "src/setup/driver/plan.h"
#include "src/setup/driver/verify.h"

namespace kgpu::driver {

// What `request` asks for and `plan` does not have, for people: "its modules are the proprietary
// ones, not the open ones"; empty: it has all of it. `file_version` is that of the file which
// --source names; empty: none. Pure. Errors: InvalidArgument, naming the flag.
StatusOr<std::string> OtherThanAsked(const Request& request, const Plan& plan,
                                     const std::string& file_version);

// What is not asked for stays as it is in the driver that `ours` brought: branch, source, kind,
// display. Pure.
Request KeepRequest(Request request, const Plan& ours);

// What a driver that is here can be asked for. Errors: InvalidArgument, naming the flag.
StatusOr<Demands> DemandsOf(const Request& request);

}  // namespace kgpu::driver
