// `kgpu cluster adopt`: looks, asks, takes over or hands back, prints what was done.
#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <chrono>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "src/cli/base/commands.h"
#include "src/cli/base/confirm.h"
#include "src/cli/base/options.h"
#include "src/cli/base/output.h"
#include "src/cli/base/progress.h"
#include "src/cli/base/version.h"
#include "src/cli/cluster/chart_values.h"
#include "src/cli/cluster/cluster_api.h"
#include "src/cli/cluster/cluster_request.h"
#include "src/cluster/adopt/changes.h"
#include "src/cluster/adopt/plan.h"
#include "src/cluster/adopt/takeover.h"
#include "src/cluster/adopt/values.h"
#include "src/cluster/adopt/world.h"
#include "src/cluster/chart/chart.h"
#include "src/cluster/install/installer.h"
#include "src/cluster/install/leftovers.h"
#include "src/cluster/install/preflight.h"
#include "src/cluster/install/uninstaller.h"
#include "src/node/report/table.h"
#include "src/platform/base/duration.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/doc/doc.h"

namespace kgpu::cli {
namespace {

namespace json = boost::json;

struct ClusterAdoptOptions {
  ChartValuesOptions values;
  ClusterAccess access;
  std::vector<std::string> nodes;
  std::string timeout = "5m";
  std::string settle = "15s";
  std::string output = "table";
  bool hands_back = false;
  bool deletes_policies = false;
  bool keeps_policies = false;
  bool finishes = false;
  bool is_dry_run = false;
  bool is_yes = false;
};

json::value OutcomeJson(const adopt::Outcome& outcome) {
  json::array nodes;
  for (const adopt::NodeOutcome& node : outcome.nodes) {
    nodes.push_back(
        json::object{{"name", node.name}, {"done", node.is_done}, {"message", node.message}});
  }
  return json::object{{"nodes", std::move(nodes)}};
}

std::string OutcomeText(const adopt::Outcome& outcome) {
  if (outcome.nodes.empty()) {
    return "no node was changed\n";
  }
  report::Table table({"NODE", "RESULT"});
  for (const adopt::NodeOutcome& node : outcome.nodes) {
    table.AddRow({node.name, node.message});
  }
  return table.Render();
}

// One run, from the flags to the report.
class AdoptRun {
 public:
  AdoptRun(const ClusterAdoptOptions& options, ClusterApi& api, OutputFormat format)
      : options_(options), api_(api), format_(format) {}

  Status Look() {
    takeover_.space = options_.values.name_space;
    ASSIGN_OR_RETURN(const auto limit, ParseDuration("--timeout", options_.timeout));
    ASSIGN_OR_RETURN(const auto settle, ParseDuration("--settle", options_.settle));
    takeover_.node_limit = std::chrono::ceil<std::chrono::seconds>(limit);
    takeover_.settle = std::chrono::ceil<std::chrono::seconds>(settle);
    const Progress progress("asking the cluster");
    ASSIGN_OR_RETURN(world_, adopt::ReadWorld(deps_.ask, takeover_.space));
    plan_ = adopt::MakePlan(world_, {.nodes = options_.nodes});
    return OkStatus();
  }

  StatusOr<ExitCode> Adopt() {
    // Values that the chart refuses are reported before anything is changed.
    ASSIGN_OR_RETURN(install_, InstallRequestFor(plan_.carried));
    if (options_.is_dry_run || !plan_.HasWork() || !plan_.problems.empty()) {
      RETURN_IF_ERROR(PrintAs(format_, adopt::PlanText(plan_), adopt::PlanJson(plan_)));
      return plan_.problems.empty() ? ExitCode::kOk : ExitCode::kPrecondition;
    }
    if (!options_.is_yes) {
      PrintNote(adopt::PlanText(plan_));
      RETURN_IF_ERROR(Confirm("Take these nodes over, one after another? Pods keep running."));
    }
    ASSIGN_OR_RETURN(const ExitCode code, Print(adopt::Takeover(deps_, takeover_).Adopt(plan_)));
    PrintNote(
        "to remove what was replaced: kgpu cluster adopt --finish; to go back: kgpu cluster adopt "
        "--hand-back");
    return code;
  }

  StatusOr<ExitCode> HandBack() {
    if (options_.is_dry_run) {
      return PrintTaken("would be handed back");
    }
    if (!options_.is_yes) {
      RETURN_IF_ERROR(Confirm("Hand these nodes back, one after another? Pods keep running."));
    }
    return Print(adopt::Takeover(deps_, takeover_).HandBack());
  }

  StatusOr<ExitCode> Finish() {
    return options_.is_dry_run ? PrintTaken("would stay with kgpu for good")
                               : Print(adopt::Takeover(deps_, takeover_).Finish(plan_));
  }

 private:
  StatusOr<ExitCode> PrintTaken(std::string_view what) {
    adopt::Outcome outcome;
    for (const adopt::SeenNode& node : world_.nodes) {
      if (adopt::IsTaken(node)) {
        outcome.nodes.push_back({node.name, false, std::string(what)});
      }
    }
    return Print(outcome);
  }

  StatusOr<ExitCode> Print(const adopt::Outcome& outcome) {
    RETURN_IF_ERROR(PrintAs(format_, OutcomeText(outcome), OutcomeJson(outcome)));
    return OkOr(outcome.status);
  }

  // The user's values win over those that are carried over.
  StatusOr<install::InstallRequest> InstallRequestFor(const adopt::Carried& carried) {
    ASSIGN_OR_RETURN(chart::ValuesRequest request, ValuesRequestOf(options_.values));
    request.files.insert(request.files.begin(),
                         {.name = "settings taken over",
                          .text = doc::Print(adopt::ValuesOf(carried), doc::Format::kYaml)});
    ASSIGN_OR_RETURN(const chart::Values values, chart::ReadValues(request));
    ASSIGN_OR_RETURN(const std::vector<chart::Manifest> manifests, chart::Render(values));
    install::InstallRequest install{
        .space = request.name_space,
        .version = VersionNumber(),
        .request = RequestJson(request),
        .on_progress = [](const std::string& text) { PrintNote(text); }};
    for (const chart::Manifest& manifest : manifests) {
      install.objects.emplace_back(manifest.object);
    }
    return install;
  }

  // What kgpu's installation needs, and what nodes and the others' DaemonSets are changed with.
  Status Check(bool installs) {
    if (installs) {
      RETURN_IF_ERROR(install::CheckInstall(api_.client(), api_.kinds(), install_.objects));
    }
    std::set<install::Permission> needed = {{"patch", "", "nodes", ""}};
    for (const adopt::NodePlan& node : plan_.nodes) {
      for (const adopt::Part& part : node.parts) {
        if (node.skipped.empty() && part.deploy_label.empty()) {
          needed.insert({"patch", "apps", "daemonsets", part.space});
        }
      }
    }
    return install::CheckPermissions(api_.client(), {needed.begin(), needed.end()});
  }

  Status Uninstall(bool is_dry_run) {
    install::UninstallReport report;
    install::UninstallRequest request{.space = takeover_.space,
                                      .is_dry_run = is_dry_run,
                                      .deletes_policies = options_.deletes_policies,
                                      .keeps_policies = options_.keeps_policies,
                                      .forces = true,  // the others serve the pods with GPUs again
                                      .hands_back = true};
    if (!is_dry_run) {
      request.on_progress = [](const std::string& text) { PrintNote(text); };
    }
    const Status status = install::Uninstall(api_.client(), api_.kinds(), request, report);
    return status.code() == StatusCode::kNotFound ? OkStatus() : status;
  }

  StatusOr<std::vector<std::string>> FindOthers() {
    ASSIGN_OR_RETURN(const install::SpaceContents contents,
                     install::LookIntoSpace(api_.client(), api_.kinds(), takeover_.space));
    std::vector<std::string> others;
    for (const kube::ObjectRef& ref : contents.foreign) {
      others.push_back(kube::TextOf(ref));
    }
    return others;
  }

  const ClusterAdoptOptions& options_;
  ClusterApi& api_;
  OutputFormat format_;
  adopt::TakeoverOptions takeover_;
  adopt::World world_;
  adopt::Plan plan_;
  install::InstallRequest install_;
  adopt::Deps deps_{
      .clock = api_.client().clock(),
      // Patches carry the version that was seen, so that repeating them does no harm. A node
      // between
      // two plugins must not wait for a person because a server was away for a moment.
      .ask =
          [this](kube::ApiRequest request) {
            return kube::SendUntilReached(api_.client(), request, std::chrono::minutes(2));
          },
      .pause = [this](std::chrono::seconds time) { api_.client().Wait(time); },
      .say = [](const std::string& text) { PrintNote(text); },
      .check = [this](bool installs) { return Check(installs); },
      .install =
          [this](const adopt::Carried&) {
            install::InstallReport report;
            return install::Install(api_.client(), api_.kinds(), install_, report);
          },
      .uninstall = [this] { return Uninstall(false); },
      .check_uninstall = [this] { return Uninstall(true); },
      .find_others = [this] { return FindOthers(); }};
};

StatusOr<ExitCode> RunClusterAdopt(const ClusterAdoptOptions& options) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  ASSIGN_OR_RETURN(const auto api, ClusterApi::Open(options.access));
  AdoptRun run(options, *api, format);
  RETURN_IF_ERROR(run.Look());
  if (options.hands_back) {
    return run.HandBack();
  }
  return options.finishes ? run.Finish() : run.Adopt();
}

}  // namespace

void AddClusterAdoptCommand(CommandRegistrar& registrar, CLI::App& group) {
  auto [command, options] = registrar.Add<ClusterAdoptOptions>(
      group, "adopt",
      "Take over GPU nodes from the GPU operator, NVIDIA's plugin and NFD, or hand them back",
      &RunClusterAdopt);
  command.footer(
      "Finds the GPU operator, NVIDIA's device plugin, GPU feature discovery, Node Feature\n"
      "Discovery and the DCGM exporter, prints what replaces what, and keeps their settings. "
      "Takes\n"
      "over node by node, the one with the fewest GPU pods first: the others leave, kgpu serves.\n"
      "Running pods are not touched, drivers stay. Stops at the first node that does not work and\n"
      "hands it back. If it is interrupted, run it again, or hand back.\n"
      "\n"
      "  kgpu cluster adopt --dry-run          what replaces what, on which nodes\n"
      "  kgpu cluster adopt --nodes gpu-1      begin with one node\n"
      "  kgpu cluster adopt --yes              all of them\n"
      "  kgpu cluster adopt --hand-back        everything as it was before\n"
      "  kgpu cluster adopt --finish           say what to remove; then forget how to go back");
  CLI::Option* nodes =
      AddValue(command, "--nodes", options.nodes, "NAME", "Only these nodes, separated by commas")
          ->delimiter(',')
          ->allow_extra_args(false);
  CLI::Option* back =
      command
          .add_flag("--hand-back", options.hands_back,
                    "Hand all nodes back, and remove kgpu if this command installed it")
          ->excludes(nodes);
  CLI::Option* deletes =
      command
          .add_flag("--delete-policies", options.deletes_policies,
                    "With --hand-back: remove GpuPolicies and their definition with kgpu")
          ->needs(back);
  command
      .add_flag("--keep-policies", options.keeps_policies,
                "With --hand-back: keep GpuPolicies and their definition")
      ->needs(back)
      ->excludes(deletes);
  command
      .add_flag("--finish", options.finishes,
                "After the replaced software was removed: forget how to hand back")
      ->excludes(back)
      ->excludes(nodes);
  AddValue(command, "--timeout", options.timeout, "TIME", "How long each step of a node may take");
  AddValue(command, "--settle", options.settle, "TIME",
           "How long a node must work before the next one");
  AddChartValuesOptions(command, options.values);
  AddClusterAccess(command, options.access);
  command.add_flag("--dry-run", options.is_dry_run, "Show what would happen");
  command.add_flag("-y,--yes", options.is_yes, "Do not ask");
  AddOutputOption(command, options.output);
}

}  // namespace kgpu::cli
