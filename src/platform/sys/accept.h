// The only function that accepts a connection, for listening sockets of any kind.
#pragma once

#include <optional>
#include <string_view>

#include "src/platform/base/status.h"
#include "src/platform/base/unique_fd.h"

namespace kgpu::sys {

// The next connection of `listener`, non-blocking; nothing if none is waiting. `name` is for
// errors. Errors: ResourceExhausted (no descriptors left: try again later), Internal.
StatusOr<std::optional<UniqueFd>> AcceptOn(int listener, std::string_view name);

}  // namespace kgpu::sys
