#include "src/cli/config.h"

#include <boost/json/value.hpp>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/cli/assignment_view.h"
#include "src/cli/config_file.h"
#include "src/cli/environment.h"
#include "src/cli/host_options.h"
#include "src/cli/observe.h"
#include "src/cli/output.h"
#include "src/node/config/gke_config.h"
#include "src/node/config/health_switches.h"
#include "src/node/config/node_config.h"
#include "src/node/config/nvidia_config.h"
#include "src/node/pools/assignment.h"
#include "src/node/telemetry/reference.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::cli {
namespace {

struct ConfigCheckOptions {
  std::vector<std::string> files;
};

struct PrintOptions {
  std::string file;
  std::string output = "yaml";
};

struct ConvertOptions {
  std::string file;
  std::string from = "auto";
  std::string output = "yaml";
};

struct AssignOptions {
  HostOptions host;
  std::string file;
  std::string output = "table";
};

StatusOr<doc::Format> ParseTextFormat(const std::string& text) {
  if (text == "yaml" || text == "json") {
    return text == "json" ? doc::Format::kJson : doc::Format::kYaml;
  }
  return InvalidArgument("--output: \"{}\" must be yaml or json", Printable(text, 40));
}

std::string Count(size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string ConfigSummary(const config::NodeConfig& config) {
  return Count(config.pools.size(), "pool") +
         (config.exclude.empty() ? "" : ", " + Count(config.exclude.size(), "exclusion"));
}

StatusOr<ExitCode> RunConfigCheck(const ConfigCheckOptions& options) {
  bool is_well = true;
  for (const std::string& file : options.files) {
    ASSIGN_OR_RETURN(const TextFile text, ReadTextFile(file));
    const auto config = config::ParseNodeConfig(text.text, text.name);
    is_well &= config.ok();
    RETURN_IF_ERROR(PrintOut(config.ok()
                                 ? fmt::format("{}: OK: {}\n", text.name, ConfigSummary(*config))
                                 : fmt::format("{}\n", Message(config.status()))));
    for (const std::string& pattern : telemetry::PatternsOfNothing(
             config.ok() ? config->metrics.exclude : std::vector<std::string>())) {
      is_well = false;
      RETURN_IF_ERROR(PrintOut(
          fmt::format("{}: metrics.exclude: \"{}\" fits no series: `kgpu metrics list` has them\n",
                      text.name, pattern)));
    }
  }
  return is_well ? ExitCode::kOk : ExitCode::kUnhealthy;
}

StatusOr<ExitCode> RunPrint(const PrintOptions& options) {
  ASSIGN_OR_RETURN(const doc::Format format, ParseTextFormat(options.output));
  ASSIGN_OR_RETURN(const config::NodeConfig config, ReadNodeConfig(options.file));
  RETURN_IF_ERROR(PrintOut(config::PrintNodeConfig(config, format)));
  return ExitCode::kOk;
}

StatusOr<config::Dialect> DialectOf(const std::string& from, const TextFile& text) {
  if (from == "nvidia") {
    return config::Dialect::kNvidia;
  }
  if (from == "gke") {
    return config::Dialect::kGke;
  }
  if (from != "auto") {
    return InvalidArgument("--from: \"{}\" must be auto, nvidia or gke", Printable(from, 40));
  }
  return config::DetectDialect(text.text, text.name);
}

StatusOr<ExitCode> RunConvert(const ConvertOptions& options) {
  ASSIGN_OR_RETURN(const doc::Format format, ParseTextFormat(options.output));
  ASSIGN_OR_RETURN(const TextFile text, ReadTextFile(options.file));
  ASSIGN_OR_RETURN(const config::Dialect dialect, DialectOf(options.from, text));
  if (dialect == config::Dialect::kNodeConfig) {
    return InvalidArgument("{}: is a NodeConfig already: \"kgpu config check {}\" checks it",
                           text.name, options.file);
  }
  ASSIGN_OR_RETURN(config::Converted converted,
                   dialect == config::Dialect::kGke
                       ? config::ConvertGkeConfig(text.text, text.name)
                       : config::ConvertNvidiaConfig(text.text, text.name));
  // Both plugins take what counts against a device from their environment.
  for (const std::string& note :
       config::ApplyHealthSwitches(Environment(), converted.config.health)) {
    PrintNote(note);
  }
  for (const config::Note& note : converted.notes) {
    PrintNote(note.text);
  }
  RETURN_IF_ERROR(PrintOut(config::PrintNodeConfig(converted.config, format)));
  return ExitCode::kOk;
}

StatusOr<ExitCode> RunAssign(const AssignOptions& options) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  ASSIGN_OR_RETURN(const config::NodeConfig config, ReadNodeConfig(options.file));
  ASSIGN_OR_RETURN(const host::DriverRoot root, OpenRoots(options.host));
  ASSIGN_OR_RETURN(const device::SnapshotPtr snapshot, TakeSnapshot(options.host, root));
  const pools::Assignment assignment = pools::AssignDevices(*snapshot, config);
  RETURN_IF_ERROR(PrintOut(format == OutputFormat::kTable
                               ? AssignmentTable(assignment, *snapshot)
                               : Render(AssignmentJson(assignment, *snapshot), format)));
  const bool is_well =
      assignment.notes.empty() && snapshot->driver.state == device::DriverState::kReady;
  return is_well ? ExitCode::kOk : ExitCode::kUnhealthy;
}

void AddOptionalFile(CLI::App& verb, std::string& file) {
  verb.add_option("FILE", file,
                  "The configuration, - for standard input (default: /etc/kgpu/config.yaml where "
                  "it is there, else the built-in one)")
      ->envname("KGPU_CONFIG");
}

void AddConfigCheck(VerbRegistrar& verbs, CLI::App& group) {
  auto options = std::make_shared<ConfigCheckOptions>();
  CLI::App* verb = group.add_subcommand("check", "Tell what is wrong with configuration files");
  verb->footer(
      "Every error has file, line, column and field. Exits 7 when a file has one.\n\n"
      "  kgpu config check config.yaml\n"
      "  kubectl get configmap kgpu -o jsonpath='{.data.config\\.yaml}' | kgpu config check -");
  verb->add_option("FILE", options->files, "NodeConfigs in YAML or JSON; - is standard input")
      ->required();
  verbs.OnRun(*verb, [options] { return RunConfigCheck(*options); });
}

void AddPrint(VerbRegistrar& verbs, CLI::App& group) {
  auto options = std::make_shared<PrintOptions>();
  CLI::App* verb =
      group.add_subcommand("print", "Print the configuration with every default written out");
  AddOptionalFile(*verb, options->file);
  verb->add_option("-o,--output", options->output, "yaml or json")
      ->type_name("FORMAT")
      ->capture_default_str();
  verbs.OnRun(*verb, [options] { return RunPrint(*options); });
}

void AddConvert(VerbRegistrar& verbs, CLI::App& group) {
  auto options = std::make_shared<ConvertOptions>();
  CLI::App* verb = group.add_subcommand(
      "convert", "Make a NodeConfig of the configuration of NVIDIA's or GKE's device plugin");
  verb->footer(
      "Standard error tells what became of every key: translated, of no meaning here, lost, or\n"
      "unknown to its owner too.\n\n"
      "  kgpu config convert nvidia-device-plugin.yaml > config.yaml\n"
      "  kgpu config convert --from gke /etc/nvidia/gpu_config.json");
  verb->add_option("FILE", options->file, "The foreign configuration, - for standard input")
      ->required();
  verb->add_option("--from", options->from, "auto (by its keys), nvidia or gke")
      ->type_name("WHOSE")
      ->capture_default_str();
  verb->add_option("-o,--output", options->output, "yaml or json")
      ->type_name("FORMAT")
      ->capture_default_str();
  verbs.OnRun(*verb, [options] { return RunConvert(*options); });
}

void AddAssign(VerbRegistrar& verbs, CLI::App& group) {
  auto options = std::make_shared<AssignOptions>();
  CLI::App* verb = group.add_subcommand(
      "assign",
      "Show which device of this host each resource gets by a configuration, and why not");
  verb->footer(
      "Nothing is changed. Exits 7 when a selector matches nothing or the driver does not answer.\n"
      "\n"
      "  kgpu config assign new.yaml           before it is rolled out\n"
      "  kgpu config assign --output json | jq '.unassigned'");
  AddOptionalFile(*verb, options->file);
  AddOutputOption(*verb, options->output);
  AddHostOptions(*verb, options->host);
  verbs.OnRun(*verb, [options] { return RunAssign(*options); });
}

}  // namespace

void AddConfigVerbs(VerbRegistrar& verbs) {
  CLI::App* group = verbs.app().add_subcommand(
      "config", "Pools, sharing and all else a node is told: check, print, convert, assign");
  group->require_subcommand(1);
  AddConfigCheck(verbs, *group);
  AddPrint(verbs, *group);
  AddConvert(verbs, *group);
  AddAssign(verbs, *group);
}

}  // namespace kgpu::cli
