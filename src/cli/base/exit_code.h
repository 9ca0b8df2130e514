// The exit codes of errors and findings.
#pragma once

#include <string>

#include "src/platform/base/status.h"
#include "src/platform/commands/exit_code.h"
#include "src/platform/report/finding.h"

namespace kgpu::cli {

using commands::ExitCode;

// kOk for OK, else the error.
StatusOr<ExitCode> OkOr(const Status& status);

ExitCode ExitCodeOf(const Status& status);

// The common rule of all commands with findings: errors end with kUnhealthy, only warnings with
// kWarned, only infos with kOk.
ExitCode ExitCodeOf(report::Severity worst);

// The message of an error; one of the kernel about a missing permission also names the fix, unless
// we are root.
std::string ErrorText(const Status& status, bool is_root);

// The same; for a permission error, also says that root has the permission, unless we are root.
StatusOr<ExitCode> ForRoot(StatusOr<ExitCode> result);

}  // namespace kgpu::cli
