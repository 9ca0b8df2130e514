#include "src/cli/health.h"

#include <boost/json/value.hpp>

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <string>

#include "src/cli/ask_agent.h"
#include "src/cli/config_file.h"
#include "src/cli/health_look.h"
#include "src/cli/host_options.h"
#include "src/cli/observe.h"
#include "src/cli/output.h"
#include "src/cli/since.h"
#include "src/cli/state_dir.h"
#include "src/gpu/health/journal.h"
#include "src/node/report/health_view.h"
#include "src/node/report/rules_view.h"
#include "src/platform/base/clock.h"
#include "src/platform/base/duration.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::cli {
namespace {

struct HealthOptions {
  HostOptions host;
  std::string output = "table";
  std::string run_dir = kRunDir;
  std::string state_dir = kStateDir;
  std::string since = "7d";
  std::string gpu;
  bool is_direct = false;
};

// Whether the agent of this node can be asked: it watches the host that is meant.
bool IsAgentMeantForHealth(const HealthOptions& options) {
  const HostOptions& host = options.host;
  return !options.is_direct && host.host_root.empty() && host.driver_root.empty() &&
         host.nvml_library.empty();
}

StatusOr<ExitCode> ShowHealth(const HealthOptions& options) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  if (IsAgentMeantForHealth(options)) {
    // It knows what happened; a look at the driver shows what is.
    StatusOr<ExitCode> answer = PrintFromAgent(options.run_dir, "/v1/health", format);
    if (answer.ok() || !IsNoAgent(answer.status())) {
      return answer;
    }
  }
  ASSIGN_OR_RETURN(const host::DriverRoot root, OpenRoots(options.host));
  ASSIGN_OR_RETURN(const Observation observation, TakeObservation(options.host, root));
  const report::HealthReport report = ReportOf(observation);
  RETURN_IF_ERROR(PrintOut(format == OutputFormat::kTable
                               ? report::HealthTable(report)
                               : Render(report::HealthJson(report), format)));
  return report::IsHealthy(report) ? ExitCode::kOk : ExitCode::kUnhealthy;
}

// Without an agent the file speaks: after a crash, or when the agent was taken off.
StatusOr<ExitCode> PrintJournal(const HealthOptions& options, WallTime since, OutputFormat format) {
  health::JournalFilter filter{.since = since, .gpu = {}};
  if (!options.gpu.empty()) {
    auto gpu = device::GpuUuid::Parse(options.gpu);
    if (!gpu.ok()) {
      return InvalidArgument("--gpu: no agent answers, who would know \"{}\": name it by its UUID",
                             options.gpu);
    }
    filter.gpu = *std::move(gpu);
  }
  ASSIGN_OR_RETURN(health::JournalText journal, health::Journal(options.state_dir, {}).Read());
  journal.entries = health::Select(std::move(journal.entries), filter);
  RETURN_IF_ERROR(PrintOut(format == OutputFormat::kTable
                               ? report::HistoryTable(journal, {})
                               : Render(report::HistoryJson(journal), format)));
  return ExitCode::kOk;
}

StatusOr<ExitCode> History(const HealthOptions& options) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  ASSIGN_OR_RETURN(const std::chrono::seconds back, ParseSince("--since", options.since));
  const WallTime since = RealClock().WallNow() - back;
  const auto ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(since.time_since_epoch()).count();
  std::string path = fmt::format("/v1/health/history?since={}", ms);
  if (!options.gpu.empty()) {
    path += "&gpu=" + EscapeQuery(options.gpu);
  }
  StatusOr<ExitCode> answer = PrintFromAgent(options.run_dir, path, format);
  if (answer.ok() || !IsNoAgent(answer.status())) {
    return answer;
  }
  return PrintJournal(options, since, format);
}

struct HealthClearOptions {
  std::string run_dir = kRunDir;
  std::string gpu;
  bool is_all = false;
  bool is_dry_run = false;
};

StatusOr<ExitCode> Clear(const HealthClearOptions& options) {
  if (options.gpu.empty() && !options.is_all) {
    return InvalidArgument("name a GPU, or say --all");
  }
  const std::string which = options.is_all ? "all=true" : "gpu=" + EscapeQuery(options.gpu);
  return PostToAgent(options.run_dir, fmt::format("/v1/health/clear?{}{}", which,
                                                  options.is_dry_run ? "&dryRun=true" : ""));
}

void AddHistoryVerb(CLI::App& health, VerbRegistrar& verbs) {
  auto options = std::make_shared<HealthOptions>();
  CLI::App* verb = health.add_subcommand(
      "history",
      "Print what happened to the GPUs' health, oldest first, over restarts and reboots");
  verb->footer(
      "Read from the agent, or from its journal where no agent runs.\n\n"
      "  kgpu health history --since 24h\n"
      "  kgpu health history --gpu 3 --output json | jq '.entries[] | select(.kind == "
      "\"raised\")'");
  AddSinceOption(*verb, options->since);
  verb->add_option("--gpu", options->gpu, "Of this GPU only: UUID, index or PCI address")
      ->type_name("GPU");
  AddOutputOption(*verb, options->output);
  AddRunDirOption(*verb, options->run_dir);
  AddStateDirOption(*verb, options->state_dir);
  verbs.OnRun(*verb, [options] { return History(*options); });
}

void AddClearVerb(CLI::App& health, VerbRegistrar& verbs) {
  auto options = std::make_shared<HealthClearOptions>();
  CLI::App* verb = health.add_subcommand(
      "clear", "Take it that a GPU is well again: ends its faults, also those held back");
  verb->footer(
      "For a device that failed too often to be trusted by itself, once its cause is mended.\n"
      "A fault that is still there is news again at once.\n\n"
      "  kgpu health clear 3\n"
      "  kgpu health clear --all --dry-run");
  CLI::Option* gpu = verb->add_option("GPU", options->gpu, "UUID, index or PCI address");
  verb->add_flag("--all", options->is_all, "Every GPU that has a fault")->excludes(gpu);
  verb->add_flag("--dry-run", options->is_dry_run, "Print what would be cleared, change nothing");
  AddRunDirOption(*verb, options->run_dir);
  verbs.OnRun(*verb, [options] { return Clear(*options); });
}

struct RulesOptions {
  std::string output = "table";
  std::string config;
};

StatusOr<ExitCode> Rules(const RulesOptions& options) {
  ASSIGN_OR_RETURN(config::NodeConfig config, ReadNodeConfig(options.config));
  if (options.output == "markdown") {
    RETURN_IF_ERROR(PrintOut(report::RulesMarkdown(config.health)));
    return ExitCode::kOk;
  }
  const auto format = ParseOutputFormat(options.output);
  if (!format.ok()) {
    return InvalidArgument("--output: \"{}\" must be table, json, yaml or markdown",
                           Printable(options.output, 40));
  }
  RETURN_IF_ERROR(PrintOut(*format == OutputFormat::kTable
                               ? report::RulesTable(config.health)
                               : Render(report::RulesJson(config.health), *format)));
  return ExitCode::kOk;
}

void AddRulesVerb(CLI::App& health, VerbRegistrar& verbs) {
  auto options = std::make_shared<RulesOptions>();
  CLI::App* verb = health.add_subcommand(
      "rules", "Print what every XID and every other sign means for a device, and what mends it");
  verb->footer(
      "As the configuration has it: health.rules changes each.\n\n"
      "  kgpu health rules\n"
      "  kgpu health rules --output json | jq '.rules[] | select(.xid == 79)'");
  verb->add_option("--config", options->config,
                   "The configuration (default: /etc/kgpu/config.yaml where it is there)")
      ->type_name("FILE");
  verb->add_option("-o,--output", options->output, "table, json, yaml or markdown")
      ->envname("KGPU_OUTPUT")
      ->type_name("FORMAT")
      ->capture_default_str();
  verbs.OnRun(*verb, [options] { return Rules(*options); });
}

}  // namespace

void AddHealthVerbs(VerbRegistrar& verbs) {
  auto options = std::make_shared<HealthOptions>();
  CLI::App* verb = verbs.app().add_subcommand(
      "health", "Show how the GPUs are, what is wrong with them, and what mends it");
  verb->footer(
      "Exits 0 when every device may be handed out, 7 when one may not or the driver is silent.\n\n"
      "  kgpu health\n"
      "  kgpu health history --since 24h\n"
      "  kgpu health rules             what every XID means here\n"
      "  kgpu health clear 3           trust a GPU again that failed too often");
  AddOutputOption(*verb, options->output);
  verb->add_flag("--direct", options->is_direct,
                 "Ask the driver, also where an agent runs (which knows what happened before)");
  AddRunDirOption(*verb, options->run_dir);
  AddHostOptions(*verb, options->host);
  verbs.OnRun(*verb, [options] { return ShowHealth(*options); });
  AddHistoryVerb(*verb, verbs);
  AddClearVerb(*verb, verbs);
  AddRulesVerb(*verb, verbs);
}

}  // namespace kgpu::cli
