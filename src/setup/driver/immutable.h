// Hosts whose system is an image: how a driver comes onto each kind.
#pragma once

#include <string>

#include "src/platform/base/status.h"
#include "src/setup/driver/common_steps.h"

namespace kgpu::driver {

// Unimplemented, with what to do instead. Wants an immutable host.
Status AdviceFor(const HostFacts& facts, const Choice& choice);

// The whole plan for RHCOS with a Driver Toolkit image: AddBefore and AddAfter are not for it.
// Errors: InvalidArgument (no installer is named), FailedPrecondition (Secure Boot).
Status AddRhcosPlan(Planning& planning, const std::string& image);

}  // namespace kgpu::driver
