// The exit codes of all commands, so that scripts need not parse texts. docs/reference/cli.md lists
// them.
#pragma once

namespace kgpu::commands {

enum class ExitCode : int {
  kOk = 0,
  kFailed = 1,        // anything not named below
  kUsage = 2,         // wrong flag, argument or input file
  kNotFound = 3,      // the requested thing does not exist
  kUnavailable = 4,   // not now: try again
  kPermission = 5,    // run as root, or grant the privilege that the error names
  kPrecondition = 6,  // the host must be changed first; the text says how
  kUnhealthy = 7,     // the answer itself is a failure: an unhealthy GPU, a finding of a check
  kWaits = 8,         // started, and continues when the host is restarted or a person has acted
  kWarned = 9,        // it works, but with a warning
};

}  // namespace kgpu::commands
