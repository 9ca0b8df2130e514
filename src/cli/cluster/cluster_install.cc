// `kgpu cluster install` and `upgrade`: render, look, apply, wait.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/cli/base/commands.h"
#include "src/cli/base/options.h"
#include "src/cli/base/output.h"
#include "src/cli/base/version.h"
#include "src/cli/cluster/chart_values.h"
#include "src/cli/cluster/cluster_api.h"
#include "src/cli/cluster/cluster_functions.h"
#include "src/cli/cluster/cluster_request.h"
#include "src/cli/cluster/cluster_view.h"
#include "src/cluster/chart/chart.h"
#include "src/cluster/install/gateway_tokens.h"
#include "src/cluster/install/installer.h"
#include "src/cluster/install/preflight.h"
#include "src/cluster/install/status.h"
#include "src/platform/base/duration.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::cli {
namespace {

namespace json = boost::json;

constexpr std::chrono::milliseconds kReportTime{10'000};
constexpr std::chrono::milliseconds kNoTime{0};
constexpr std::chrono::milliseconds kReportPause{1'000};

struct ClusterInstallOptions {
  ChartValuesOptions values;
  ClusterAccess access;
  std::string timeout = "5m";
  std::string output = "table";
  bool is_dry_run = false;
  bool forces = false;         // --force-conflicts
  bool no_wait = false;        // --no-wait
  bool beside_others = false;  // --beside-others
  bool has_functions = false;  // --functions
};

// Valid values have it.
std::string ImageOf(const chart::Values& values) {
  const json::object& image = values.tree.at("image").as_object();
  return fmt::format("{}:{}", std::string_view(image.at("repository").as_string()),
                     std::string_view(image.at("tag").as_string()));
}

// One run, from the flags to the report.
class InstallRun {
 public:
  InstallRun(const ClusterInstallOptions& options, ClusterApi& api, OutputFormat format)
      : options_(options), api_(api), format_(format) {}

  Status Prepare(chart::ValuesRequest request) {
    ASSIGN_OR_RETURN(const chart::Values values,
                     ReadValuesWithFunctions(options_.has_functions, request));
    has_own_tokens_ = HasOwnTokens(values);
    ASSIGN_OR_RETURN(const std::vector<chart::Manifest> manifests, chart::Render(values));
    for (const chart::Manifest& manifest : manifests) {
      request_.objects.emplace_back(manifest.object);
    }
    request_.space = request.name_space;
    request_.version = VersionNumber();
    request_.request = RequestJson(request);
    request_.is_dry_run = options_.is_dry_run;
    request_.force = options_.forces;
    if (!options_.is_dry_run) {
      request_.on_progress = [](const std::string& text) { PrintNote(text); };
      NoteLocalImage(values);
    }
    ASSIGN_OR_RETURN(timeout_, ParseDuration("--timeout", options_.timeout));
    return OkStatus();
  }

  // What must hold, before anything is changed.
  Status Look() { return install::CheckInstall(api_.client(), api_.kinds(), request_.objects); }

  // Agents stand back where others serve the GPUs: little use, if nobody knows.
  Status CheckOthers() {
    if (options_.beside_others) {
      return OkStatus();
    }
    ASSIGN_OR_RETURN(const std::vector<std::string> others,
                     install::FindOtherSoftware(api_.client()));
    return others.empty()
               ? OkStatus()
               : FailedPrecondition(
                     "other software serves GPUs here: {}: take over from it with kgpu cluster "
                     "adopt, or use --beside-others: agents then leave the nodes of others alone",
                     Join(others, ", "));
  }

  StatusOr<ExitCode> Run() {
    install::InstallReport report;
    const Status status = install::Install(api_.client(), api_.kinds(), request_, report);
    if (!status.ok() || options_.is_dry_run) {
      if (!report.applied.empty()) {
        RETURN_IF_ERROR(Print(report));
      }
      const bool has_begun = !options_.is_dry_run && !report.applied.empty();
      return OkOr(has_begun ? Annotate(status, "not complete; run the command again to continue")
                            : status);
    }
    RETURN_IF_ERROR(MakeTokens());
    const Status ready = options_.no_wait ? OkStatus() : Wait();
    RETURN_IF_ERROR(Print(report));
    if (!ready.ok()) {
      PrintNote(report.version_before.empty()
                    ? "to see more: kgpu cluster status; to take it back: kgpu cluster uninstall"
                    : fmt::format("to go back: run kgpu {} cluster upgrade with the earlier values",
                                  report.version_before));
    }
    return OkOr(ready);
  }

 private:
  // No node has it by itself, and no registry.
  static void NoteLocalImage(const chart::Values& values) {
    const std::string image = ImageOf(values);
    if (image.starts_with("localhost/")) {
      PrintNote(fmt::format(
          "{} is on no registry: it must be loaded on each node "
          "(docs/guides/install-on-a-cluster.md), or name your image: --set image.repository=…",
          image));
    }
  }

  Status MakeTokens() {
    if (!has_own_tokens_) {
      return OkStatus();
    }
    ASSIGN_OR_RETURN(const bool is_new,
                     install::EnsureGatewayTokens(api_.client(), request_.space));
    if (is_new) {
      PrintNote(
          fmt::format("the gateway's admin token: kubectl -n {} get secret {} -o "
                      "jsonpath='{{.data.admin-token}}' | base64 -d",
                      request_.space, install::kTokensSecret));
    }
    return OkStatus();
  }

  Status Wait() {
    return kube::WaitUntilReady(
        api_.client(), api_.kinds(), install::WorkloadsOf(request_.objects),
        {.time = timeout_, .on_change = [](const kube::ObjectRef& ref, const kube::Readiness& is) {
           PrintNote(fmt::format("{}: {}", kube::TextOf(ref), is.text));
         }});
  }

  // New agents report within seconds; until then their nodes look as if nothing worked.
  StatusOr<install::ClusterStatus> ReadReported() {
    const SteadyTime until =
        api_.client().clock().Now() + (options_.no_wait ? kNoTime : kReportTime);
    for (;;) {
      StatusOr<install::ClusterStatus> status =
          install::ReadStatus(api_.client(), api_.kinds(), request_.space);
      const bool is_awaited =
          status.ok() && std::ranges::any_of(status->nodes, &install::NodeStatus::is_awaited);
      if (!is_awaited || api_.client().clock().Now() >= until) {
        return status;
      }
      api_.client().Wait(kReportPause);
    }
  }

  Status Print(const install::InstallReport& report) {
    std::string text = InstallText(report, options_.is_dry_run);
    json::object object = InstallJson(report, options_.is_dry_run);
    if (!options_.is_dry_run) {
      const StatusOr<install::ClusterStatus> status = ReadReported();
      if (status.ok()) {
        text += "\n" + install::StatusTable(*status);
        object["status"] = install::StatusJson(*status);
      }
    }
    return PrintAs(format_, text, object);
  }

  const ClusterInstallOptions& options_;
  ClusterApi& api_;
  OutputFormat format_;
  install::InstallRequest request_;
  bool has_own_tokens_ = false;
  std::chrono::milliseconds timeout_{};
};

StatusOr<ExitCode> RunClusterInstall(const ClusterInstallOptions& options) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  ASSIGN_OR_RETURN(const chart::ValuesRequest request, ValuesRequestOf(options.values));
  ASSIGN_OR_RETURN(const auto api, ClusterApi::Open(options.access));
  InstallRun run(options, *api, format);
  RETURN_IF_ERROR(run.Prepare(request));
  RETURN_IF_ERROR(run.Look());
  RETURN_IF_ERROR(run.CheckOthers());
  return run.Run();
}

StatusOr<ExitCode> RunClusterUpgrade(const ClusterInstallOptions& options) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  ASSIGN_OR_RETURN(const chart::ValuesRequest given, ValuesRequestOf(options.values));
  ASSIGN_OR_RETURN(const auto api, ClusterApi::Open(options.access));
  ASSIGN_OR_RETURN(const std::optional<install::Record> record,
                   install::ReadRecord(api->client(), given.name_space));
  if (!record) {
    return NotFound(
        "no installation by kgpu cluster install is recorded in namespace {}: run kgpu cluster "
        "install with your values; what kgpu cluster render | kubectl apply has installed is "
        "continued",
        given.name_space);
  }
  ASSIGN_OR_RETURN(chart::ValuesRequest before, ParseRequest(record->request, given.name_space));
  InstallRun run(options, *api, format);
  RETURN_IF_ERROR(run.Prepare(MergeRequests(std::move(before), given)));
  RETURN_IF_ERROR(run.Look());
  return run.Run();
}

void AddInstallOptions(CLI::App& command, ClusterInstallOptions& options) {
  AddChartValuesOptions(command, options.values);
  AddClusterAccess(command, options.access);
  command.add_flag("--dry-run", options.is_dry_run,
                   "Show what would change; the server validates it but writes nothing");
  command.add_flag("--force-conflicts", options.forces,
                   "Overwrite fields that others have changed");
  command.add_flag("--functions", options.has_functions,
                   "Install the function gateway, too; makes its tokens if the values name none");
  command.add_flag("--no-wait", options.no_wait, "Do not wait until the agents are ready");
  AddValue(command, "--timeout", options.timeout, "TIME", "How long to wait for the agents");
  AddOutputOption(command, options.output);
}

}  // namespace

void AddClusterInstallCommands(CommandRegistrar& registrar, CLI::App& group) {
  auto install = registrar.Add<ClusterInstallOptions>(
      group, "install", "Install kgpu on a cluster and wait until its agents are ready",
      &RunClusterInstall);
  install.command.footer(
      "Applies what kgpu cluster render prints, and records it in the ConfigMap kgpu-install. If\n"
      "it is interrupted, run it again. Needs a cluster admin's kubeconfig.\n"
      "\n"
      "  kgpu cluster install --dry-run\n"
      "  kgpu cluster install --for k3s --set agent.nodeSelector.gpu=true\n"
      "  kgpu cluster install --values site.yaml --timeout 10m\n"
      "  kgpu cluster install --functions              with functions on this cluster");
  AddInstallOptions(install.command, install.options);
  install.command.add_flag("--beside-others", install.options.beside_others,
                           "Install even if other GPU software is running; leave its nodes alone");
  auto upgrade = registrar.Add<ClusterInstallOptions>(
      group, "upgrade", "Upgrade an installation to this version, or change its values",
      &RunClusterUpgrade);
  upgrade.command.footer(
      "Keeps the values of the installation: --values and --for replace them, --set adds to them.\n"
      "Objects that this version no longer has are removed.\n"
      "\n"
      "  kgpu cluster upgrade --dry-run             show each field that would change\n"
      "  kgpu cluster upgrade --set image.tag=1.2");
  AddInstallOptions(upgrade.command, upgrade.options);
}

}  // namespace kgpu::cli
