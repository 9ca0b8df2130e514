// Hosts whose system is an image: how to get a driver onto each kind.
#pragma once

#include <string>

#include "src/platform/base/status.h"
#include "src/setup/driver/common_steps.h"

namespace kgpu::driver {

// FailedPrecondition, with what to do instead. Requires an immutable host.
Status AdviceFor(const HostFacts& facts, const Choice& choice);

// The complete plan for RHCOS with a Driver Toolkit image: it does not use AddBefore and AddAfter.
// Errors: InvalidArgument (no installer is named), FailedPrecondition (Secure Boot).
Status AddRhcosPlan(Planning& planning, const std::string& image);

}  // namespace kgpu::driver
