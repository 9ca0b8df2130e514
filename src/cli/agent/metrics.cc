#include "src/cli/base/commands.h"

#include <boost/json/value.hpp>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>

#include "src/cli/base/ask_agent.h"
#include "src/cli/base/config_file.h"
#include "src/cli/base/find_pods.h"
#include "src/cli/base/host_options.h"
#include "src/cli/base/node_name.h"
#include "src/cli/base/observe.h"
#include "src/cli/base/options.h"
#include "src/cli/base/output.h"
#include "src/node/telemetry/reference.h"
#include "src/node/telemetry/render.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/net/http/client.h"

namespace kgpu::cli {
namespace {

using metrics::Exposition;
using metrics::Format;
using telemetry::NameSets;

struct MetricsOptions {
  HostOptions host;
  bool is_once = false;
  std::string names;  // empty: the configuration's
  bool is_open_metrics = false;
  std::string config;
  std::string node;
  std::string kubelet_dir = kKubeletDir;
  std::string run_dir = kRunDir;
};

struct ListOptions {
  std::string names = "kgpu,dcgm,gke";
  std::string output = "table";
};

StatusOr<ExitCode> PrintAgentsPage(const MetricsOptions& options) {
  http::Request request;
  request.target = "/metrics";
  if (!options.names.empty()) {
    ASSIGN_OR_RETURN([[maybe_unused]] const NameSets names,
                     telemetry::ParseNames("--names", options.names));
    request.target += "?names=" + options.names;
  }
  if (options.is_open_metrics) {
    request.headers.Add("Accept", "application/openmetrics-text; version=1.0.0");
  }
  const auto response =
      FetchFromAgent(BelowHostRoot(options.run_dir, kRunDir, options.host.host_root), request);
  if (!response.ok()) {
    return MakeStatus(response.status().code(),
                      fmt::format("{}; kgpu metrics --once reads the GPUs without an agent",
                                  Message(response.status())));
  }
  if (response->code != 200) {
    return Unavailable("the agent answered {}: {}", response->code, Printable(response->body, 200));
  }
  return OkOr(PrintOut(response->body));
}

StatusOr<ExitCode> PrintOwnLook(const MetricsOptions& options) {
  ASSIGN_OR_RETURN(const config::NodeConfig config, ReadNodeConfig(options.config));
  NameSets names;
  for (const config::NameSet set : config.metrics.names) {
    names.Add(set);
  }
  if (!options.names.empty()) {
    ASSIGN_OR_RETURN(names, telemetry::ParseNames("--names", options.names));
  }
  ASSIGN_OR_RETURN(const host::DriverRoot root, OpenRoots(options.host));
  ASSIGN_OR_RETURN(const Observation seen, TakeObservation(options.host, root));
  NoteSilentDriver("kgpu metrics", seen.snapshot->driver);
  ASSIGN_OR_RETURN(
      pods::PodMapPtr pods,
      FindPods(root.host, BelowHostRoot(options.kubelet_dir, kKubeletDir, options.host.host_root),
               seen.samples));
  if (!pods->problem.empty()) {
    PrintNote(fmt::format("kgpu metrics: pods are unknown: {}", pods->problem));
  }
  telemetry::PageInput input;
  input.snapshot = seen.snapshot;
  input.samples = seen.samples;
  if (seen.samples && !seen.samples->gpus.empty()) {
    input.measured = seen.samples->taken;
  }
  input.pods = std::move(pods);
  input.hostname = NodeName(options.node);
  const Format format = options.is_open_metrics ? Format::kOpenMetrics : Format::kText;
  std::string page = telemetry::RenderPage(
      input, {.names = names, .format = format, .exclude = config.metrics.exclude});
  if (options.is_open_metrics) {
    page += Exposition::kEnd;
  }
  return OkOr(PrintOut(page));
}

StatusOr<ExitCode> RunMetrics(const MetricsOptions& options) {
  return options.is_once ? PrintOwnLook(options) : PrintAgentsPage(options);
}

StatusOr<ExitCode> RunMetricsList(const ListOptions& options) {
  ASSIGN_OR_RETURN(const NameSets names, telemetry::ParseNames("--names", options.names));
  return PrintReference(options.output, telemetry::ReferenceMarkdown(names),
                        telemetry::ReferenceTable(names), telemetry::ReferenceJson(names));
}

void AddList(CommandRegistrar& registrar, CLI::App& parent) {
  auto [command, options] = registrar.Add<ListOptions>(
      parent, "list", "List the series of the agent with their meaning", &RunMetricsList);
  command.footer(
      "Lists the names for metrics.exclude and the labels of each series. Those of functions and\n"
      "their gateway are in docs/reference/functions.md; kgpu fn metrics prints them.\n"
      "\n"
      "  kgpu metrics list --names dcgm\n"
      "  kgpu metrics list --output json | jq -r '.series[].name'");
  AddValue(command, "--names", options.names, "SETS", "Name sets: kgpu, dcgm, gke");
  AddOutputOption(command, options.output, "table|json|yaml|markdown");
}

}  // namespace

void AddMetricsCommand(CommandRegistrar& registrar) {
  auto [command, options] = registrar.Add<MetricsOptions>(
      registrar.app(), "metrics", "Print the metrics page that Prometheus scrapes", &RunMetrics);
  command.footer(
      "Without --once, prints the agent's page, which includes faults, usage and its own series.\n"
      "\n"
      "  kgpu metrics\n"
      "  kgpu metrics --once --names kgpu,dcgm,gke   without an agent\n"
      "  kgpu metrics list                           what each series means");
  CLI::Option* once =
      command.add_flag("--once", options.is_once, "Read the GPUs now, without an agent");
  AddValue(command, "--names", options.names, "SETS",
           "Name sets: kgpu, dcgm, gke (default: the configured ones)");
  command.add_flag("--openmetrics", options.is_open_metrics,
                   "Print OpenMetrics 1.0 instead of Prometheus text");
  AddConfigOption(command, options.config, "With --once: ");
  AddValue(command, "--kubelet-dir", options.kubelet_dir, "DIR",
           "With --once: the kubelet's folder, to find which pod uses which GPU")
      ->needs(once);
  AddNodeNameOption(command, options.node);
  AddRunDirOption(command, options.run_dir);
  AddHostOptions(command, options.host);
  AddList(registrar, command);
}

}  // namespace kgpu::cli
