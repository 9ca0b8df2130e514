#include "src/cli/base/commands.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "src/cli/base/ask_agent.h"
#include "src/cli/base/options.h"
#include "src/cli/base/output.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::cli {
namespace {

struct StatusCommandOptions {
  std::string output = "table";
  std::string run_dir = kRunDir;
  std::string host_root;
};

StatusOr<ExitCode> Run(const StatusCommandOptions& options) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  return PrintFromAgent(BelowHostRoot(options.run_dir, kRunDir, options.host_root), "/v1/status",
                        format);
}

}  // namespace

void AddStatusCommand(CommandRegistrar& registrar) {
  auto [command, options] = registrar.Add<StatusCommandOptions>(
      registrar.app(), "status",
      "Show what the running agent does: resources, registration, problems", &Run);
  command.footer(
      "Exits 0 when pods can get GPUs, 7 when a problem prevents it; the problem is printed "
      "first.\n"
      "\n"
      "  kgpu status\n"
      "  kgpu status --output json | jq '.resources[] | {name, allocatable}'");
  AddOutputOption(command, options.output);
  AddRunDirOption(command, options.run_dir);
  AddHostRootOption(command, options.host_root);
}

}  // namespace kgpu::cli
