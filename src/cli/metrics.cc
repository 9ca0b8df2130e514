#include "src/cli/metrics.h"

#include <boost/json/value.hpp>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>

#include "src/cli/ask_agent.h"
#include "src/cli/config_file.h"
#include "src/cli/find_pods.h"
#include "src/cli/host_options.h"
#include "src/cli/node_name.h"
#include "src/cli/observe.h"
#include "src/cli/output.h"
#include "src/node/telemetry/reference.h"
#include "src/node/telemetry/render.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/http/client.h"

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
  std::string kubelet_dir = "/var/lib/kubelet";
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
  const auto response = http::Fetch(options.run_dir + "/agent.sock", request);
  if (!response.ok()) {
    return Annotate(response.status(),
                    "no agent answers (--once looks at the GPUs without one, --run-dir names its "
                    "folder)");
  }
  if (response->code != 200) {
    return Unavailable("the agent answers {}: {}", response->code, Printable(response->body, 200));
  }
  RETURN_IF_ERROR(PrintOut(response->body));
  return ExitCode::kOk;
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
  if (seen.snapshot->driver.state != device::DriverState::kReady) {
    PrintNote(fmt::format("kgpu metrics: {}", seen.snapshot->driver.reason));
  }
  ASSIGN_OR_RETURN(pods::PodMapPtr pods, FindPods(root.host, options.kubelet_dir, seen.samples));
  if (!pods->problem.empty()) {
    PrintNote(fmt::format("kgpu metrics: no pods are named: {}", pods->problem));
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
  RETURN_IF_ERROR(PrintOut(page));
  return ExitCode::kOk;
}

StatusOr<ExitCode> RunMetricsList(const ListOptions& options) {
  ASSIGN_OR_RETURN(const NameSets names, telemetry::ParseNames("--names", options.names));
  if (options.output == "markdown") {
    RETURN_IF_ERROR(PrintOut(telemetry::ReferenceMarkdown(names)));
    return ExitCode::kOk;
  }
  const auto format = ParseOutputFormat(options.output);
  if (!format.ok()) {
    return InvalidArgument("--output: \"{}\" must be table, json, yaml or markdown",
                           Printable(options.output, 40));
  }
  RETURN_IF_ERROR(PrintOut(*format == OutputFormat::kTable
                               ? telemetry::ReferenceTable(names)
                               : Render(telemetry::ReferenceJson(names), *format)));
  return ExitCode::kOk;
}

void AddList(VerbRegistrar& verbs, CLI::App& parent) {
  auto options = std::make_shared<ListOptions>();
  CLI::App* verb = parent.add_subcommand("list", "Say what every series is");
  verb->footer(
      "The names that metrics.exclude takes, and the labels of each.\n\n"
      "  kgpu metrics list --names dcgm\n"
      "  kgpu metrics list --output json | jq -r '.series[].name'");
  verb->add_option("--names", options->names, "Name sets: some of kgpu, dcgm, gke")
      ->type_name("SETS")
      ->capture_default_str();
  verb->add_option("-o,--output", options->output, "table, json, yaml or markdown")
      ->envname("KGPU_OUTPUT")
      ->type_name("FORMAT")
      ->capture_default_str();
  verbs.OnRun(*verb, [options] { return RunMetricsList(*options); });
}

}  // namespace

void AddMetricsVerb(VerbRegistrar& verbs) {
  auto options = std::make_shared<MetricsOptions>();
  CLI::App* verb =
      verbs.app().add_subcommand("metrics", "Print the page of series that Prometheus reads");
  verb->footer(
      "Without --once it is the agent's page: with faults, usage, and the agent's own series.\n\n"
      "  kgpu metrics\n"
      "  kgpu metrics --once --names kgpu,dcgm,gke   without an agent\n"
      "  kgpu metrics list                           what every series is");
  verb->add_flag("--once", options->is_once, "Look at the GPUs now, without an agent");
  verb->add_option("--names", options->names,
                   "Name sets: some of kgpu, dcgm, gke (default: the configuration's)")
      ->type_name("SETS");
  verb->add_flag("--openmetrics", options->is_open_metrics,
                 "OpenMetrics 1.0 in place of Prometheus text");
  verb->add_option("--config", options->config,
                   "With --once: configuration of the node (default: /etc/kgpu/config.yaml where "
                   "it is there)")
      ->envname("KGPU_CONFIG")
      ->type_name("FILE");
  verb->add_option("--kubelet-dir", options->kubelet_dir,
                   "With --once: the kubelet's folder, for who uses which GPU")
      ->type_name("DIR")
      ->capture_default_str();
  AddNodeNameOption(*verb, options->node);
  AddRunDirOption(*verb, options->run_dir);
  AddHostOptions(*verb, options->host);
  verbs.OnRun(*verb, [options] {
    return options->is_once ? PrintOwnLook(*options) : PrintAgentsPage(*options);
  });
  AddList(verbs, *verb);
}

}  // namespace kgpu::cli
