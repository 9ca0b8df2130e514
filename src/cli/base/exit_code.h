// The exit codes of all commands, so that scripts need not parse texts. docs/reference/cli.md lists
// them.
#pragma once

#include "src/platform/base/status.h"
#include "src/platform/report/finding.h"

namespace kgpu::cli {

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

// kOk for OK, else the error.
StatusOr<ExitCode> OkOr(const Status& status);

ExitCode ExitCodeOf(const Status& status);

// The common rule of all commands with findings: errors end with kUnhealthy, only warnings with
// kWarned, only infos with kOk.
ExitCode ExitCodeOf(report::Severity worst);

// The same; for a permission error, also says that root has the permission, unless we are root.
StatusOr<ExitCode> ForRoot(StatusOr<ExitCode> result);

}  // namespace kgpu::cli
