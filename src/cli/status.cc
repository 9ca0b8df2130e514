#include "src/cli/status.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "src/cli/ask_agent.h"
#include "src/cli/output.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::cli {
namespace {

struct StatusVerbOptions {
  std::string output = "table";
  std::string run_dir = kRunDir;
};

StatusOr<ExitCode> Run(const StatusVerbOptions& options) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  return PrintFromAgent(options.run_dir, "/v1/status", format);
}

}  // namespace

void AddStatusVerb(VerbRegistrar& verbs) {
  auto options = std::make_shared<StatusVerbOptions>();
  CLI::App* verb = verbs.app().add_subcommand(
      "status",
      "Show what the running agent does: resources, registration, what stands in the way");
  verb->footer(
      "Exits 0 when pods can get GPUs, 7 when something stands in the way: it is named first.\n\n"
      "  kgpu status\n"
      "  kgpu status --output json | jq '.resources[] | {name, allocatable}'");
  AddOutputOption(*verb, options->output);
  AddRunDirOption(*verb, options->run_dir);
  verbs.OnRun(*verb, [options] { return Run(*options); });
}

}  // namespace kgpu::cli
