#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <string>

#include "src/cli/base/commands.h"
#include "src/cli/base/confirm.h"
#include "src/cli/base/options.h"
#include "src/cli/base/output.h"
#include "src/cli/cluster/chart_values.h"
#include "src/cli/cluster/cluster_api.h"
#include "src/cli/cluster/cluster_view.h"
#include "src/cluster/install/uninstaller.h"
#include "src/platform/base/duration.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::cli {
namespace {

struct ClusterUninstallOptions {
  ClusterAccess access;
  install::UninstallRequest request{.space = std::string(chart::kNamespace)};
  std::string timeout = "2m";
  std::string output = "table";
  bool is_yes = false;
};

StatusOr<ExitCode> RunClusterUninstall(const ClusterUninstallOptions& options) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  install::UninstallRequest request = options.request;
  ASSIGN_OR_RETURN(request.time, ParseDuration("--timeout", options.timeout));
  ASSIGN_OR_RETURN(const auto api, ClusterApi::Open(options.access));
  if (!request.is_dry_run) {
    if (!options.is_yes) {
      RETURN_IF_ERROR(Confirm(
          fmt::format("Remove kgpu from the cluster (namespace {}), its nodes and their hosts?",
                      request.space)));
    }
    request.on_progress = [](const std::string& text) { PrintNote(text); };
  }
  install::UninstallReport report;
  const Status status = install::Uninstall(api->client(), api->kinds(), request, report);
  if (status.ok() || !report.removed.empty()) {
    RETURN_IF_ERROR(PrintAs(format, UninstallText(report, request.is_dry_run),
                            UninstallJson(report, request.is_dry_run)));
  }
  return OkOr(status);
}

}  // namespace

void AddClusterUninstallCommand(CommandRegistrar& registrar, CLI::App& group) {
  auto [command, options] = registrar.Add<ClusterUninstallOptions>(
      group, "uninstall", "Remove kgpu from a cluster: objects, labels of nodes, files on hosts",
      &RunClusterUninstall);
  command.footer(
      "What others have put into the namespace or taken over stays and is named. If it is\n"
      "interrupted, run it again.\n"
      "\n"
      "  kgpu cluster uninstall --dry-run\n"
      "  kgpu cluster uninstall --yes");
  AddValue(command, "-n,--namespace", options.request.space, "NAME",
           "Namespace of the installation");
  AddClusterAccess(command, options.access);
  command.add_flag("--dry-run", options.request.is_dry_run, "Show what would be removed");
  command.add_flag("-y,--yes", options.is_yes, "Do not ask");
  CLI::Option* deletes = command.add_flag("--delete-policies", options.request.deletes_policies,
                                          "Remove GpuPolicies with their definition");
  command
      .add_flag("--keep-policies", options.request.keeps_policies,
                "Keep GpuPolicies and their definition")
      ->excludes(deletes);
  command.add_flag("--delete-functions", options.request.deletes_functions,
                   "Delete the functions that are deployed");
  command.add_flag("--keep-host-files", options.request.keeps_hosts,
                   "Run no pods that remove the agents' files from hosts");
  command.add_flag("--force", options.request.forces, "Go on although pods use GPUs");
  AddValue(command, "--timeout", options.timeout, "TIME",
           "How long each object, and the pods on hosts, may take");
  AddOutputOption(command, options.output);
}

}  // namespace kgpu::cli
