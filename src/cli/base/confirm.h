// Asks a person before something is changed.
#pragma once

#include <string_view>

#include "src/platform/base/status.h"

namespace kgpu::cli {

// Whether there is a person to ask: standard input and standard error are terminals.
bool HasTerminal();

// Prints `question` on standard error, reads standard input. Errors: InvalidArgument (nobody can be
// asked here; the text says --yes), FailedPrecondition (the answer was no).
Status Confirm(std::string_view question);

// Whether the answer begins with y; false if there is no terminal.
bool AskYesNo(std::string_view question);

}  // namespace kgpu::cli
