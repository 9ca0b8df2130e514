// Hosts whose system is an image: how a driver comes onto each kind.
#pragma once

#include "src/base/status.h"
#include "src/driver/choice.h"
#include "src/driver/host_facts.h"

namespace kgpu::driver {

// Unimplemented, with what to do instead. Wants an immutable host.
Status AdviceFor(const HostFacts& facts, const Choice& choice);

}  // namespace kgpu::driver
