// The exit codes of every command, so that scripts need not read texts. docs/reference/cli.md lists
// them.
#pragma once

#include "src/platform/base/status.h"
#include "src/platform/report/finding.h"

namespace kgpu::cli {

enum class ExitCode : int {
  kOk = 0,
  kFailed = 1,        // anything not named below
  kUsage = 2,         // wrong flag, argument or input file
  kNotFound = 3,      // the thing asked for is not there
  kUnavailable = 4,   // not now: try again
  kPermission = 5,    // run as root, or grant the privilege named
  kPrecondition = 6,  // the host must be changed first; the text says how
  kUnhealthy = 7,     // the answer itself is a failure: an unhealthy GPU, a finding of a check
  kWaits = 8,   // begun, and goes on when the host is restarted or a person has done something
  kWarned = 9,  // it works, and the answer has a warning
};

// kOk where nothing went wrong, else the error.
StatusOr<ExitCode> OkOr(const Status& status);

ExitCode ExitCodeOf(const Status& status);

// The one rule of all commands that find something: an error ends with kUnhealthy, warnings alone
// with kWarned, what is only good to know with kOk.
ExitCode ExitCodeOf(report::Severity worst);

// The same; an error of rights also says that root has them, where we are not root.
StatusOr<ExitCode> ForRoot(StatusOr<ExitCode> result);

}  // namespace kgpu::cli
