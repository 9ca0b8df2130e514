// Queries this node's agent over its socket.
#pragma once

#include <string>
#include <string_view>

#include "src/cli/base/exit_code.h"
#include "src/node/report/format.h"
#include "src/platform/base/status.h"
#include "src/platform/net/http/message.h"

namespace kgpu::cli {

// Prints the response of agent.sock in `run_dir` to `path`, in the requested format, and returns
// its exit code. `path` may have a query. Errors: NotFound, Unavailable (no agent runs, with the
// fix), PermissionDenied (we may not use the socket, with the fix); InvalidArgument, NotFound,
// FailedPrecondition (from the agent).
StatusOr<ExitCode> PrintFromAgent(const std::string& run_dir, const std::string& path,
                                  report::OutputFormat format);

// The response to a GET of `path`, as JSON. Errors: as PrintFromAgent.
StatusOr<std::string> ReadFromAgent(const std::string& run_dir, const std::string& path);

// The same for a request that changes something.
StatusOr<ExitCode> PostToAgent(const std::string& run_dir, const std::string& path);

// The agent's response, whatever its code. Errors: as PrintFromAgent for an agent that is
// unreachable.
StatusOr<http::Response> FetchFromAgent(const std::string& run_dir, const http::Request& request);

// The path of agent.sock, for those who ask beside a loop.
std::string AgentSocket(const std::string& run_dir);

// The body of a response of code 200. Errors: as PrintFromAgent, for any other response and for an
// agent that was not reached.
StatusOr<std::string> BodyFromAgent(const std::string& run_dir, StatusOr<http::Response> response);

// Whether an agent listens on agent.sock in `run_dir`. Errors: PermissionDenied: possibly.
StatusOr<bool> IsAgentRunning(const std::string& run_dir);

// The node of the agent in `run_dir`; empty: none, or no agent answers.
std::string NodeOfAgent(const std::string& run_dir);

// Whether there is no agent, as opposed to one that refused us.
bool IsNoAgent(const Status& status);

}  // namespace kgpu::cli
