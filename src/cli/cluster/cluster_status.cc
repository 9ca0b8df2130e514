#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <string>

#include "src/cli/base/commands.h"
#include "src/cli/base/options.h"
#include "src/cli/base/output.h"
#include "src/cli/base/progress.h"
#include "src/cli/cluster/chart_values.h"
#include "src/cli/cluster/cluster_api.h"
#include "src/cluster/install/status.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::cli {
namespace {

struct ClusterStatusOptions {
  ClusterAccess access;
  std::string space{chart::kNamespace};
  std::string output = "table";
};

StatusOr<ExitCode> RunClusterStatus(const ClusterStatusOptions& options) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  ASSIGN_OR_RETURN(const auto api, ClusterApi::Open(options.access));
  StatusOr<install::ClusterStatus> status = [&] {
    const Progress progress("asking the API server");
    return install::ReadStatus(api->client(), api->kinds(), options.space);
  }();
  RETURN_IF_ERROR(status.status());
  RETURN_IF_ERROR(PrintAs(format, install::StatusTable(*status), install::StatusJson(*status)));
  return status->IsHealthy() ? ExitCode::kOk : ExitCode::kUnhealthy;
}

}  // namespace

void AddClusterStatusCommand(CommandRegistrar& registrar, CLI::App& group) {
  auto [command, options] = registrar.Add<ClusterStatusOptions>(
      group, "status", "Show for each node which step from driver to pod works, and what is wrong",
      &RunClusterStatus);
  command.footer(
      "Exits with 7 if an agent is missing or a node has a problem; each has its fix below the\n"
      "table.\n"
      "\n"
      "  kgpu cluster status\n"
      "  kgpu cluster status -o json | jq -r '.nodes[] | select(.problem != \"\") | .name'");
  AddValue(command, "-n,--namespace", options.space, "NAME", "Namespace of the installation");
  AddClusterAccess(command, options.access);
  AddOutputOption(command, options.output);
}

}  // namespace kgpu::cli
