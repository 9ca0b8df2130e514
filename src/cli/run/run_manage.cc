// `kgpu run list|logs|stop`: what runs, what it prints, and its end.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/cli/base/commands.h"
#include "src/cli/base/options.h"
#include "src/cli/base/output.h"
#include "src/cli/base/progress.h"
#include "src/cli/run/run_cluster.h"
#include "src/cluster/run/runs.h"
#include "src/cluster/run/view.h"
#include "src/kube/api/resource.h"
#include "src/kube/objects/kinds.h"
#include "src/kube/objects/remove_set.h"
#include "src/platform/base/clock.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::cli {
namespace {

namespace json = boost::json;

struct ManageOptions {
  NodeOptions common;
  std::string space;
  std::string name;
  std::vector<std::string> names;  // of stop
  std::string tail;
  bool is_everywhere = false;
  bool shows_token = false;
  bool follows = false;
  bool keeps_volume = false;
};

StatusOr<ExitCode> RunList(const ManageOptions& options) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.common.output));
  ASSIGN_OR_RETURN(const std::unique_ptr<RunCluster> cluster, RunCluster::Open(options.common));
  ASSIGN_OR_RETURN(
      std::vector<run::RunInfo> runs,
      run::ListRuns(cluster->client(),
                    options.is_everywhere ? std::string() : cluster->SpaceOr(options.space)));
  std::vector<run::ShownRun> shown;
  for (run::RunInfo& run : runs) {
    std::string token;
    if (options.shows_token && run.node_port != 0) {
      ASSIGN_OR_RETURN(token, run::TokenOf(cluster->client(), run));
    }
    // Who may not read nodes still sees the rest.
    StatusOr<std::string> url = run::UrlOf(cluster->client(), run, token);
    if (!url.ok()) {
      PrintNote(fmt::format("{}: its URL is not known: {}", run.name, Message(url.status())));
    }
    shown.push_back({.run = std::move(run), .url = url.value_or("")});
  }
  return OkOr(PrintAs(format, run::RunsText(shown, RealClock().WallNow()), run::RunsJson(shown)));
}

StatusOr<ExitCode> RunLogs(const ManageOptions& options) {
  ASSIGN_OR_RETURN(const std::unique_ptr<RunCluster> cluster, RunCluster::Open(options.common));
  ASSIGN_OR_RETURN(const run::RunInfo run,
                   run::FindRun(cluster->client(), cluster->SpaceOr(options.space), options.name));
  if (run.pod.empty()) {
    return Unavailable("{}: it has no pod yet: `kgpu run list` shows its state", run.name);
  }
  kube::ApiRequest request{.path = kube::kPods.Object(run.space, run.pod, "log")};
  if (options.follows) {
    request.query.emplace_back("follow", "true");
  }
  if (!options.tail.empty()) {
    if (!ParseUint(options.tail)) {
      return InvalidArgument("--tail: \"{}\" must be a number of lines", Printable(options.tail));
    }
    request.query.emplace_back("tailLines", options.tail);
  }
  return OkOr(cluster->ReadText(std::move(request),
                                [](std::string_view text) { PrintOut(text).IgnoreError(); }));
}

std::string StopText(const std::vector<kube::RemoveResult>& results, bool is_dry_run) {
  std::string text;
  for (const kube::RemoveResult& result : results) {
    // A dry run fails as the real one would.
    const bool is_planned = is_dry_run && result.status.ok();
    text += fmt::format("{}{} {}\n", is_planned ? "would be " : "", kube::ToString(result.outcome),
                        kube::TextOf(result.ref));
  }
  return text;
}

json::value StopJson(const std::vector<kube::RemoveResult>& results, bool is_dry_run) {
  json::array list;
  for (const kube::RemoveResult& result : results) {
    list.push_back({{"kind", result.ref.kind},
                    {"namespace", result.ref.space},
                    {"name", result.ref.name},
                    {"outcome", std::string(kube::ToString(result.outcome))}});
  }
  return json::object{{"dryRun", is_dry_run}, {"objects", std::move(list)}};
}

StatusOr<ExitCode> RunStop(const ManageOptions& options) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.common.output));
  ASSIGN_OR_RETURN(const std::unique_ptr<RunCluster> cluster, RunCluster::Open(options.common));
  const std::string space = cluster->SpaceOr(options.space);
  // All of them exist, or nothing is removed.
  std::vector<kube::RemoveTarget> targets;
  for (const std::string& name : options.names) {
    ASSIGN_OR_RETURN(const std::vector<kube::RemoveTarget> its,
                     run::ObjectsOfRun(cluster->client(), space, name));
    if (its.empty()) {
      return NotFound("{}/{}: no such run: `kgpu run list` shows those that there are", space,
                      Printable(name));
    }
    targets.insert(targets.end(), its.begin(), its.end());
  }
  if (options.keeps_volume) {
    std::erase_if(targets, [](const kube::RemoveTarget& target) {
      return target.ref.kind == "PersistentVolumeClaim";
    });
  }
  kube::Kinds kinds(cluster->client());
  std::vector<kube::RemoveResult> results;
  {
    const Progress progress(fmt::format("removing {}", Join(options.names, ", ")));
    results = kube::RemoveObjects(cluster->client(), kinds, std::move(targets),
                                  {.is_dry_run = options.common.is_dry_run});
  }
  RETURN_IF_ERROR(PrintAs(format, StopText(results, options.common.is_dry_run),
                          StopJson(results, options.common.is_dry_run)));
  return OkOr(kube::StatusOfResults(results));
}

void AddPlace(CLI::App& command, ManageOptions& options) {
  AddValue(command, "-n,--namespace", options.space, "NAME", "Namespace (default: the context's)");
  AddClusterOptions(command, options.common);
}

void AddList(CommandRegistrar& registrar, CLI::App& group) {
  auto [command, options] =
      registrar.Add<ManageOptions>(group, "list", "List what kgpu run has started", &RunList);
  command.footer(
      "  kgpu run list -A\n"
      "  kgpu run list --show-token           with the URL that opens Jupyter\n"
      "  kgpu run list --output json | jq -r '.runs[].name'");
  command.add_flag("-A,--all-namespaces", options.is_everywhere, "In all namespaces");
  command.add_flag("--show-token", options.shows_token, "Add the token to Jupyter's URL");
  AddPlace(command, options);
  AddOutputOption(command, options.common.output);
}

void AddLogs(CommandRegistrar& registrar, CLI::App& group) {
  auto [command, options] =
      registrar.Add<ManageOptions>(group, "logs", "Print the logs of a run", &RunLogs);
  command.footer("  kgpu run logs job-4f1a22 -f");
  command.add_option("NAME", options.name, "Name of the run")->required();
  command.add_flag("-f,--follow", options.follows, "Continue until the run ends");
  AddValue(command, "--tail", options.tail, "LINES", "Only the last lines");
  AddPlace(command, options);
}

void AddStop(CommandRegistrar& registrar, CLI::App& group) {
  auto [command, options] = registrar.Add<ManageOptions>(
      group, "stop", "Stop runs and remove all of their objects", &RunStop);
  command.footer(
      "Also removes the volume that was made for Jupyter, with the files on it, unless\n"
      "--keep-volume is given.\n"
      "\n"
      "  kgpu run stop job-4f1a22 lab --dry-run\n"
      "  kgpu run stop lab --keep-volume");
  command.add_option("NAME", options.names, "Names of the runs")->required();
  command.add_flag("--keep-volume", options.keeps_volume, "Keep the volume that was made for it");
  command.add_flag("--dry-run", options.common.is_dry_run, "Show what would be removed");
  AddPlace(command, options);
  AddOutputOption(command, options.common.output);
}

}  // namespace

void AddRunManageCommands(CommandRegistrar& registrar, CLI::App& group) {
  AddList(registrar, group);
  AddLogs(registrar, group);
  AddStop(registrar, group);
}

}  // namespace kgpu::cli
