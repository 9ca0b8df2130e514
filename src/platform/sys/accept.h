// The one way to take a connection from a listening socket of any kind.
#pragma once

#include <optional>
#include <string_view>

#include "src/platform/base/status.h"
#include "src/platform/base/unique_fd.h"

namespace kgpu::sys {

// The next connection of `listener`, non-blocking; nothing when none waits. `name` is for errors.
// Errors: ResourceExhausted (no descriptors left: try again later), Internal.
StatusOr<std::optional<UniqueFd>> AcceptOn(int listener, std::string_view name);

}  // namespace kgpu::sys
