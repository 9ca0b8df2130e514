// The state as a file: `kgpu-sim create` writes it, the server starts from it and updates it.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "src/platform/base/status.h"
#include "testing/driver/state.h"

namespace kgpu::sim {

// Checks what the simulated libraries rely on: counts within bounds, terminated texts, ids in their
// places. Errors: InvalidArgument (names the field).
Status ValidateState(const SimState& state);

// The bytes of a file, or of a message. Errors: InvalidArgument (not a state, another layout, cut).
StatusOr<std::unique_ptr<SimState>> ParseState(std::string_view bytes);
std::string_view StateBytes(const SimState& state);

// <root>/.kgpu-sim/state. Errors: NotFound, InvalidArgument.
StatusOr<std::unique_ptr<SimState>> LoadState(const std::string& root);
// Atomic; creates the folder.
Status SaveState(const std::string& root, const SimState& state);

}  // namespace kgpu::sim
