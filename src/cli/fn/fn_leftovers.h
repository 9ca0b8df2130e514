// `kgpu fn down` where no service answers, because it was killed.
#pragma once

#include <string>

#include "src/platform/base/status.h"

namespace kgpu::cli {

// Removes the containers of functions, those that run by name where podman cannot list them, and
// returns their loans to the agent, if one answers. Does nothing on a machine where nothing is
// left. Errors: FailedPrecondition (no podman), Unavailable (not all were removed: with the
// reason).
Status RemoveLeftovers(const std::string& run_dir, const std::string& state_dir);

// Ends the loans of functions in the agent's ledger, if no agent runs. Errors: those of the file;
// Unavailable (an agent has started meanwhile).
Status EndLoansWithoutAgent(const std::string& run_dir, const std::string& state_dir);

}  // namespace kgpu::cli
