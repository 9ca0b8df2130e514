// Asks the agent of this node over its socket.
#pragma once

#include <string>
#include <string_view>

#include "src/cli/exit_code.h"
#include "src/node/report/format.h"
#include "src/platform/base/status.h"
#include "src/platform/http/message.h"

namespace kgpu::cli {

// Prints what agent.sock in `run_dir` answers to `path`, in the form asked for, and gives the exit
// code it answers with. `path` may have a query. Errors: NotFound, Unavailable (no agent runs, with
// the fix), PermissionDenied (the socket is not ours to use, with the fix); InvalidArgument,
// NotFound, FailedPrecondition (what it says).
StatusOr<ExitCode> PrintFromAgent(const std::string& run_dir, const std::string& path,
                                  report::OutputFormat format);

// What it answers to a GET of `path`, as JSON. Errors: as PrintFromAgent.
StatusOr<std::string> ReadFromAgent(const std::string& run_dir, const std::string& path);

// The same for a request that changes something.
StatusOr<ExitCode> PostToAgent(const std::string& run_dir, const std::string& path);

// The agent's answer, whatever its code. Errors: as PrintFromAgent, of an agent that is not
// reached.
StatusOr<http::Response> FetchFromAgent(const std::string& run_dir, const http::Request& request);

// Whether an agent listens on agent.sock in `run_dir`. Errors: PermissionDenied: one may.
StatusOr<bool> IsAgentRunning(const std::string& run_dir);

// The node that the agent of `run_dir` serves; empty: none, or no agent answers.
std::string NodeOfAgent(const std::string& run_dir);

// Whether there is no agent to reach, as opposed to one that refused us.
bool IsNoAgent(const Status& status);

}  // namespace kgpu::cli
