// Asks the agent of this node over its socket.
#pragma once

#include <string>
#include <string_view>

#include "src/cli/exit_code.h"
#include "src/node/report/format.h"
#include "src/platform/base/status.h"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's name
class App;
}

namespace kgpu::cli {

inline constexpr char kRunDir[] = "/run/kgpu";

// --run-dir, or $KGPU_RUN_DIR. `run_dir` holds the default and outlives the parse.
void AddRunDirOption(CLI::App& verb, std::string& run_dir);

// Prints what agent.sock in `run_dir` answers to `path`, in the form asked for, and gives the exit
// code it answers with. `path` may have a query. Errors: NotFound, Unavailable (no agent runs, with
// the mend), PermissionDenied; InvalidArgument, NotFound, FailedPrecondition (what it says).
StatusOr<ExitCode> PrintFromAgent(const std::string& run_dir, const std::string& path,
                                  report::OutputFormat format);

// What it answers to a GET of `path`, as JSON. Errors: as PrintFromAgent.
StatusOr<std::string> ReadFromAgent(const std::string& run_dir, const std::string& path);

// The same for a request that changes something.
StatusOr<ExitCode> PostToAgent(const std::string& run_dir, const std::string& path);

// Whether no agent was reached, as against one that refused.
bool IsNoAgent(const Status& status);

// `text` as a value in a query.
std::string EscapeQuery(std::string_view text);

}  // namespace kgpu::cli
