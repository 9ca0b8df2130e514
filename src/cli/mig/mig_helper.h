// The helper process of the agent: plans or changes MIG layouts for one request, and ends.
#pragma once

#include "src/cli/base/exit_code.h"
#include "src/platform/base/status.h"

namespace kgpu::cli {

// Reads a mig::HelperRequest from standard input and prints each mig::HelperReply. Errors: only
// those of standard input and output; what goes wrong with the request is in the reply.
StatusOr<ExitCode> RunMigHelper();

}  // namespace kgpu::cli
