// Shell completion. The scripts call kgpu itself for every key, as `kgpu __complete WORDS`: they
// contain neither commands nor flags and cannot go out of date.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/cli/base/exit_code.h"
#include "src/platform/base/status.h"
#include "src/platform/commands/candidates.h"

namespace kgpu::cli {

// The script for `shell`: "bash", "zsh" or "fish". Errors: InvalidArgument (another shell).
StatusOr<std::string> CompletionScript(std::string_view shell);

// Prints candidates for the words after `kgpu __complete`, the last of which is being typed.
StatusOr<ExitCode> PrintCandidates(std::vector<std::string> words);

}  // namespace kgpu::cli
