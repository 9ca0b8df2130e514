// Hands a terminal over to a pod, through kubectl.
#pragma once

#include <string>
#include <vector>

#include "src/cli/base/node_api.h"
#include "src/cluster/run/runs.h"
#include "src/platform/base/status.h"

namespace kgpu::cli {

// The command that opens a shell in the pod of `run`, or runs `command` there: "kubectl", "exec", …
std::vector<std::string> ExecCommand(const NodeOptions& options, const run::RunInfo& run,
                                     const std::vector<std::string>& command, bool has_terminal);

// The same for a person's terminal, as a line to copy.
std::string ExecLine(const NodeOptions& options, const run::RunInfo& run,
                     const std::vector<std::string>& command);

// Where kubectl is, by `path` (the value of PATH); empty: nowhere.
std::string FindKubectl(const std::string& path);

// Runs `argv`, whose first word is a path, with our standard streams, and returns its exit code.
// Signals of the keyboard are its own. Errors: as ChildProcess::Spawn.
StatusOr<int> RunInForeground(std::vector<std::string> argv);

}  // namespace kgpu::cli
