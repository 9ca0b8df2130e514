#include "src/cli/usage.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "src/cli/ask_agent.h"
#include "src/cli/output.h"
#include "src/cli/since.h"
#include "src/node/usage/view.h"
#include "src/platform/base/duration.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::cli {
namespace {

struct UsageOptions {
  std::string since = "24h";
  std::string by = "pod";
  std::string output = "table";
  std::string run_dir = kRunDir;
};

StatusOr<ExitCode> Run(const UsageOptions& options) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  RETURN_IF_ERROR(ParseSince("--since", options.since).status());
  RETURN_IF_ERROR(usage::ParseGroupBy("--by", options.by).status());
  return PrintFromAgent(options.run_dir,
                        fmt::format("/v1/usage?since={}&by={}", options.since, options.by), format);
}

}  // namespace

void AddUsageVerb(VerbRegistrar& verbs) {
  auto options = std::make_shared<UsageOptions>();
  CLI::App* verb = verbs.app().add_subcommand(
      "usage", "Show what namespaces and pods have had of this node's GPUs");
  verb->footer(
      "Counted by the agent while it runs, by the hour; docs/usage.md says what each column is.\n\n"
      "  kgpu usage --since 7d --by namespace\n"
      "  kgpu usage --output json | jq '.usage[] | select(.busyGpuSeconds == 0)'");
  AddSinceOption(*verb, options->since, "; whole hours count");
  verb->add_option("--by", options->by, "pod or namespace")
      ->type_name("WORD")
      ->capture_default_str();
  AddOutputOption(*verb, options->output);
  AddRunDirOption(*verb, options->run_dir);
  verbs.OnRun(*verb, [options] { return Run(*options); });
}

}  // namespace kgpu::cli
