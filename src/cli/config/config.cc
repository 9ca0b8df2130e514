#include "src/cli/base/commands.h"

#include <boost/json/value.hpp>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/cli/base/checked_files.h"
#include "src/cli/base/config_file.h"
#include "src/cli/base/environment.h"
#include "src/cli/base/host_options.h"
#include "src/cli/base/observe.h"
#include "src/cli/base/options.h"
#include "src/cli/base/output.h"
#include "src/cli/config/assignment_view.h"
#include "src/node/choice/selectors.h"
#include "src/node/config/config_map.h"
#include "src/node/config/gke_config.h"
#include "src/node/config/health_switches.h"
#include "src/node/config/node_config.h"
#include "src/node/config/nvidia_config.h"
#include "src/node/config/schema.h"
#include "src/node/pools/assignment.h"
#include "src/node/telemetry/reference.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/doc.h"

namespace kgpu::cli {
namespace {

struct ConfigCheckOptions {
  std::vector<std::string> files;
  std::string output = "table";
};

struct PrintOptions {
  std::string file;
  std::string output = "yaml";
};

struct ConvertOptions {
  std::string file;
  std::string from = "auto";
  std::string key;
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

// selectors.yaml of a ConfigMap with configurations of nodes.
CheckedFile CheckSelectors(const TextFile& text) {
  CheckedFile checked{.name = text.name};
  const auto rules = choice::ParseSelectors(text.text, text.name);
  if (rules.ok()) {
    checked.summary = Count(rules->size(), "selector");
  } else {
    checked.problems = ProblemsOf(Message(rules.status()));
  }
  return checked;
}

CheckedFile CheckConfig(const TextFile& text) {
  CheckedFile checked{.name = text.name};
  const auto config = config::ParseNodeConfig(text.text, text.name);
  if (!config.ok()) {
    checked.problems = ProblemsOf(Message(config.status()));
    return checked;
  }
  checked.summary = ConfigSummary(*config);
  for (const std::string& pattern : telemetry::PatternsOfNothing(config->metrics.exclude)) {
    checked.problems.push_back(
        fmt::format("{}: metrics.exclude: \"{}\" matches no series: run `kgpu metrics list` to see "
                    "the names",
                    text.name, pattern));
  }
  return checked;
}

StatusOr<ExitCode> RunConfigCheck(const ConfigCheckOptions& options) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  std::vector<CheckedFile> checked;
  for (const std::string& file : options.files) {
    ASSIGN_OR_RETURN(const TextFile text, ReadTextFile(file));
    const bool is_list = std::filesystem::path(file).filename() == choice::kSelectorsKey;
    checked.push_back(is_list ? CheckSelectors(text) : CheckConfig(text));
  }
  return PrintCheckedFiles(checked, format);
}

StatusOr<ExitCode> RunPrint(const PrintOptions& options) {
  ASSIGN_OR_RETURN(const doc::Format format, ParseTextFormat(options.output));
  ASSIGN_OR_RETURN(const config::NodeConfig config, ReadNodeConfig(options.file));
  return OkOr(PrintOut(config::PrintNodeConfig(config, format)));
}

struct SchemaOptions {};

StatusOr<ExitCode> RunSchema(const SchemaOptions& /*options*/) {
  return OkOr(PrintOut(doc::Print(config::NodeConfigSchema(), doc::Format::kJson)));
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
  ASSIGN_OR_RETURN(TextFile text, ReadTextFile(options.file));
  ASSIGN_OR_RETURN(std::optional<config::ConfigMapEntry> entry,
                   config::ReadConfigMap(text.text, text.name, options.key));
  if (entry) {
    text = {.name = std::move(entry->name), .text = std::move(entry->text)};
  }
  ASSIGN_OR_RETURN(const config::Dialect dialect, DialectOf(options.from, text));
  if (dialect == config::Dialect::kNodeConfig) {
    return InvalidArgument("{}: already a NodeConfig: check it with \"kgpu config check {}\"",
                           text.name, options.file);
  }
  ASSIGN_OR_RETURN(config::Converted converted,
                   dialect == config::Dialect::kGke
                       ? config::ConvertGkeConfig(text.text, text.name)
                       : config::ConvertNvidiaConfig(text.text, text.name));
  // Both plugins take what counts against a device from their environment.
  PrintNotes(config::ApplyHealthSwitches(Environment(), converted.config.health));
  for (const config::Note& note : converted.notes) {
    PrintNote(note.text);
  }
  return OkOr(PrintOut(config::PrintNodeConfig(converted.config, format)));
}

StatusOr<ExitCode> RunAssign(const AssignOptions& options) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  ASSIGN_OR_RETURN(const config::NodeConfig config, ReadNodeConfig(options.file));
  ASSIGN_OR_RETURN(const host::DriverRoot root, OpenRoots(options.host));
  ASSIGN_OR_RETURN(const device::SnapshotPtr snapshot, TakeSnapshot(options.host, root));
  const pools::Assignment assignment = pools::AssignDevices(*snapshot, config);
  RETURN_IF_ERROR(PrintAs(format, AssignmentTable(assignment, *snapshot),
                          AssignmentJson(assignment, *snapshot)));
  return CodeOf(assignment, *snapshot, config);
}

void AddOptionalFile(CLI::App& command, std::string& file) {
  command
      .add_option("FILE", file,
                  "Configuration file, - for standard input (default: /etc/kgpu/config.yaml if it "
                  "exists, else the built-in configuration)")
      ->envname("KGPU_CONFIG");
}

void AddConfigCheck(CommandRegistrar& registrar, CLI::App& group) {
  auto [command, options] = registrar.Add<ConfigCheckOptions>(
      group, "check", "Check configuration files for errors", &RunConfigCheck);
  command.footer(
      "Each error names the file, line, column and field. Exits 7 when a file has an error.\n"
      "A file named selectors.yaml is checked as the list that chooses configurations for nodes.\n"
      "\n"
      "  kgpu config check config.yaml\n"
      "  kubectl get configmap kgpu -o jsonpath='{.data.config\\.yaml}' | kgpu config check -");
  command.add_option("FILE", options.files, "NodeConfigs in YAML or JSON; - for standard input")
      ->required();
  AddOutputOption(command, options.output);
}

CLI::App& AddDefaults(CommandRegistrar& registrar, CLI::App& group, const char* name) {
  auto [command, options] = registrar.Add<PrintOptions>(
      group, name, "Print a configuration with all defaults", &RunPrint);
  command.footer(
      "  kgpu config defaults\n"
      "  kgpu config defaults config.yaml --output json | jq .pools");
  AddOptionalFile(command, options.file);
  AddOutputOption(command, options.output, "yaml|json");
  return command;
}

void AddConvert(CommandRegistrar& registrar, CLI::App& group) {
  auto [command, options] = registrar.Add<ConvertOptions>(
      group, "convert",
      "Convert a configuration of NVIDIA's or GKE's device plugin to a NodeConfig", &RunConvert);
  command.footer(
      "Reports on standard error what happened to each key: converted, not needed, lost, or "
      "unknown.\n"
      "\n"
      "  kgpu config convert nvidia-device-plugin.yaml > config.yaml\n"
      "  kgpu config convert --from gke /etc/nvidia/gpu_config.json");
  command
      .add_option(
          "FILE", options.file,
          "The other plugin's configuration, or a ConfigMap that holds it; - is standard input")
      ->required();
  AddValue(command, "--key", options.key, "KEY",
           "Which entry of a ConfigMap to convert (default: its only one)");
  AddValue(command, "--from", options.from, "auto|nvidia|gke",
           "Whose configuration it is; auto detects it by its keys");
  AddOutputOption(command, options.output, "yaml|json");
}

void AddSchema(CommandRegistrar& registrar, CLI::App& group) {
  auto [command, options] = registrar.Add<SchemaOptions>(
      group, "schema", "Print a JSON schema of NodeConfig for editors", &RunSchema);
  command.footer(
      "Editors with the YAML language server check a file that begins with a line naming it.\n\n"
      "  kgpu config schema > node-config.schema.json\n"
      "  # yaml-language-server: $schema=node-config.schema.json");
}

void AddAssign(CommandRegistrar& registrar, CLI::App& group) {
  auto [command, options] = registrar.Add<AssignOptions>(
      group, "assign",
      "Show which devices of this host each resource gets, and why others are left out",
      &RunAssign);
  command.footer(
      "Changes nothing. Exits 7 when a selector matches nothing, the driver does not answer, or "
      "the\n"
      "MIG mode of the GPUs leaves none to hand out; 9 when it withdraws some of them.\n"
      "\n"
      "  kgpu config assign new.yaml           before you roll it out\n"
      "  kgpu config assign --output json | jq '.unassigned'");
  AddOptionalFile(command, options.file);
  AddOutputOption(command, options.output);
  AddHostOptions(command, options.host);
}

}  // namespace

void AddConfigCommands(CommandRegistrar& registrar) {
  CLI::App& group = registrar.AddGroup("config", "Check, show and convert node configuration");
  group.footer(
      "  kgpu config check config.yaml\n"
      "  kgpu config defaults");
  AddConfigCheck(registrar, group);
  AddDefaults(registrar, group, "defaults");
  AddDefaults(registrar, group, "print").group("");  // its name for a release longer
  AddConfigShowCommand(registrar, group);
  AddConvert(registrar, group);
  AddSchema(registrar, group);
  AddAssign(registrar, group);
}

}  // namespace kgpu::cli
