#include "src/cli/base/commands.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "src/cli/base/ask_agent.h"
#include "src/cli/base/options.h"
#include "src/cli/base/output.h"
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
  std::string host_root;
};

StatusOr<ExitCode> Run(const UsageOptions& options) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  RETURN_IF_ERROR(ParseSince("--since", options.since).status());
  RETURN_IF_ERROR(usage::ParseGroupBy("--by", options.by).status());
  return PrintFromAgent(BelowHostRoot(options.run_dir, kRunDir, options.host_root),
                        fmt::format("/v1/usage?since={}&by={}", options.since, options.by), format);
}

}  // namespace

void AddUsageCommand(CommandRegistrar& registrar) {
  auto [command, options] = registrar.Add<UsageOptions>(
      registrar.app(), "usage", "Show the GPU usage of namespaces and pods on this node", &Run);
  command.footer(
      "The running agent counts usage by the hour; docs/reference/usage.md explains each column.\n"
      "\n"
      "  kgpu usage --since 7d --by namespace\n"
      "  kgpu usage --output json | jq '.usage[] | select(.busyGpuSeconds == 0)'");
  AddSinceOption(command, options.since, "; counted in whole hours");
  AddValue(command, "--by", options.by, "pod|namespace", "Print one line for each of these");
  AddOutputOption(command, options.output);
  AddRunDirOption(command, options.run_dir);
  AddHostRootOption(command, options.host_root);
}

}  // namespace kgpu::cli
