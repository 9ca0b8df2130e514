#include "src/cli/base/commands.h"

#include <boost/json/value.hpp>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/cli/base/ask_agent.h"
#include "src/cli/base/checked_files.h"
#include "src/cli/base/color.h"
#include "src/cli/base/config_file.h"
#include "src/cli/base/host_options.h"
#include "src/cli/base/node_api.h"
#include "src/cli/base/node_name.h"
#include "src/cli/base/observe.h"
#include "src/cli/base/options.h"
#include "src/cli/base/output.h"
#include "src/cli/labels/labels_apply.h"
#include "src/cli/labels/labels_view.h"
#include "src/container/engine/diff.h"
#include "src/host/inspect/pci.h"
#include "src/node/labels/feature_files.h"
#include "src/node/labels/gpu_labels.h"
#include "src/node/labels/label_source.h"
#include "src/node/labels/rules.h"
#include "src/platform/base/clock.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/sys/root.h"

namespace kgpu::cli {
namespace {

struct LabelsOptions {
  HostOptions host;
  std::string config;
  NodeOptions node;
  std::string output = "labels";
  std::string only;
  std::vector<std::string> rules;
  bool shows_raw = false;
  bool explains_rules = false;
  bool applies = false;
  std::string run_dir = kRunDir;
  bool writes_file = false;
  bool removes_file = false;
};

struct RulesCheckOptions {
  std::vector<std::string> files;
  std::string output = "table";
};

// "labels" is a form of this command alone.
struct Form {
  bool is_lines = false;
  OutputFormat format = OutputFormat::kTable;
};

StatusOr<Form> ParseForm(const std::string& text) {
  if (text == "labels") {
    return Form{.is_lines = true};
  }
  const auto format = ParseOutputFormat(text);
  if (!format.ok()) {
    return InvalidArgument("--output: \"{}\" must be labels, table, json or yaml",
                           Printable(text, 40));
  }
  return Form{.format = *format};
}

// The configuration with the flags applied.
StatusOr<config::NodeConfig> ConfigOf(const LabelsOptions& options) {
  ASSIGN_OR_RETURN(config::NodeConfig config, ReadNodeConfig(options.config));
  if (options.only == "features" || options.only == "gpus") {
    config.labels.features = options.only == "features";
    config.labels.gpus = options.only == "gpus";
  } else if (!options.only.empty()) {
    return InvalidArgument("--only: \"{}\" must be features or gpus", Printable(options.only, 40));
  }
  return config;
}

// The paths of --rules belong to this process, whatever the host root is.
StatusOr<std::vector<std::string>> NamedRules(const std::vector<std::string>& given) {
  std::vector<std::string> paths;
  for (const std::string& path : given) {
    RETURN_IF_ERROR(Annotate(CheckNamedPath(path), "--rules"));
    paths.push_back(std::filesystem::absolute(path).lexically_normal().string());
  }
  return paths;
}

struct Gpus {
  labels::NodeClaims claims{};
  bool is_driver_silent = false;  // there are cards, and little is known of them
};

StatusOr<Gpus> ReadGpus(const LabelsOptions& options, const host::DriverRoot& root,
                        const config::NodeConfig& config) {
  // Where PCI shows no card there is nothing to ask a driver for.
  const auto cards = host::ScanNvidiaPci(root.host);
  if (!config.labels.gpus || (cards.ok() && cards->empty())) {
    return Gpus();
  }
  ASSIGN_OR_RETURN(const device::SnapshotPtr snapshot, TakeSnapshot(options.host, root));
  const bool is_silent = snapshot->driver.state != device::DriverState::kReady;
  NoteSilentDriver("kgpu labels", snapshot->driver);
  return Gpus{labels::GpuClaims(*snapshot, config, labels::ReadGpuHost(root.host, *snapshot)),
              is_silent};
}

Status ShowLabels(const LabelsOptions& options, const Form& form, const labels::LabelLook& look) {
  if (options.explains_rules) {
    return PrintOut(labels::PrintVerdicts(look.verdicts));
  }
  if (options.shows_raw) {
    return PrintOut(Render(FeaturesJson(look.features), form.format == OutputFormat::kJson
                                                            ? OutputFormat::kJson
                                                            : OutputFormat::kYaml));
  }
  if (form.is_lines) {
    return PrintOut(LabelLines(look.labels.claims));
  }
  return PrintOut(form.format == OutputFormat::kTable ? LabelsTable(look.labels.claims)
                                                      : Render(LabelsJson(look), form.format));
}

StatusOr<ExitCode> ChangeFile(const sys::Root& host, const labels::FeatureFilePlan& plan,
                              bool is_dry_run) {
  const std::string path = host.At(plan.path);
  if (!plan.HasChange()) {
    PrintNote(fmt::format("{}: no changes", path));
    return ExitCode::kOk;
  }
  if (is_dry_run) {
    return OkOr(PrintOut(DiffForOutput(engine::UnifiedDiff(path, plan.before, plan.after))));
  }
  RETURN_IF_ERROR(labels::ApplyFeatureFile(host, plan));
  PrintNote(fmt::format("{}: {}", path, plan.after ? "written" : "removed"));
  return ExitCode::kOk;
}

// A set that is not whole would take the rest off the node.
Status CheckWhole(const LabelsOptions& options, bool is_driver_silent) {
  if (!options.only.empty()) {
    return InvalidArgument("{} writes all labels{}: remove --only {}",
                           options.applies ? "--apply" : "--write-file",
                           options.applies ? " to the node" : "", options.only);
  }
  if (is_driver_silent) {
    return FailedPrecondition(
        "the driver does not answer, so the GPU labels are unknown: run kgpu devices to see why");
  }
  if (options.node.is_dry_run) {
    return OkStatus();
  }
  ASSIGN_OR_RETURN(const bool has_agent,
                   IsAgentRunning(BelowHostRoot(options.run_dir, kRunDir, options.host.host_root)));
  if (has_agent) {
    return FailedPrecondition(
        "an agent is running here and maintains the node's labels: preview changes with --dry-run");
  }
  return OkStatus();
}

StatusOr<ExitCode> Apply(const LabelsOptions& options, labels::LabelSource& source,
                         labels::LookOptions look_options) {
  NodeOptions node = options.node;
  node.output = options.output == "labels" ? node.output : options.output;
  ASSIGN_OR_RETURN(const std::string name, NodeNameOf(options.node));
  ASSIGN_OR_RETURN(const std::unique_ptr<NodeApi> api, NodeApi::Open(options.node));
  ASSIGN_OR_RETURN(labels::ClusterLabels cluster, ReadClusterLabels(*api, name));
  look_options.cluster = std::make_shared<const labels::ClusterLabels>(std::move(cluster));
  const labels::LabelLook look = source.Look(look_options);
  PrintNotes(look.labels.problems, "kgpu labels: ");
  return ApplyClaims(node, *api, name, look.labels.claims);
}

StatusOr<ExitCode> RunLabels(const LabelsOptions& options) {
  ASSIGN_OR_RETURN(const Form form, ParseForm(options.output));
  ASSIGN_OR_RETURN(const config::NodeConfig config, ConfigOf(options));
  ASSIGN_OR_RETURN(const std::vector<std::string> rules, NamedRules(options.rules));
  ASSIGN_OR_RETURN(const host::DriverRoot root, OpenRoots(options.host));
  if (options.removes_file) {
    const auto [folder, name] = labels::SplitFilePath(config.labels.file);
    ASSIGN_OR_RETURN(const labels::FeatureFilePlan plan,
                     labels::PlanFeatureFileRemoval(root.host, folder, name));
    return ChangeFile(root.host, plan, options.node.is_dry_run);
  }
  ASSIGN_OR_RETURN(Gpus gpus, ReadGpus(options, root, config));
  if (options.applies || options.writes_file) {
    RETURN_IF_ERROR(CheckWhole(options, gpus.is_driver_silent));
  }
  labels::LookOptions look_options;
  look_options.gpus = std::move(gpus.claims);
  look_options.now = RealClock().WallNow();
  look_options.wants_verdicts = options.explains_rules;
  look_options.wants_all_features = options.shows_raw;
  ASSIGN_OR_RETURN(const sys::Root own_root, sys::Root::Open("/"));
  labels::LabelSource source(root.host, config.labels, NodeName(options.node.node));
  if (!rules.empty()) {
    source.UseRules(own_root, rules);
  }
  if (options.applies) {
    return Apply(options, source, std::move(look_options));
  }
  const labels::LabelLook look = source.Look(look_options);
  PrintNotes(look.labels.problems, "kgpu labels: ");
  if (options.writes_file) {
    const auto [folder, name] = labels::SplitFilePath(config.labels.file);
    ASSIGN_OR_RETURN(const labels::FeatureFilePlan plan,
                     labels::PlanFeatureFile(root.host, folder, look.labels.own_labels, name));
    return ChangeFile(root.host, plan, options.node.is_dry_run);
  }
  return OkOr(ShowLabels(options, form, look));
}

CheckedFile CheckRules(const TextFile& text) {
  CheckedFile checked{.name = text.name};
  labels::RuleFile read = labels::ReadRuleFile(text.text, text.name);
  checked.problems = std::move(read.problems);
  checked.hints = std::move(read.hints);
  if (!checked.problems.empty()) {
    return checked;
  }
  size_t rules = 0;
  for (const labels::RuleSet& set : read.sets) {
    rules += set.rules.size();
  }
  checked.summary = fmt::format("{} rule{}", rules, rules == 1 ? "" : "s");
  return checked;
}

StatusOr<ExitCode> RunRulesCheck(const RulesCheckOptions& options) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  std::vector<CheckedFile> checked;
  for (const std::string& file : options.files) {
    ASSIGN_OR_RETURN(const TextFile text, ReadTextFile(file));
    checked.push_back(CheckRules(text));
  }
  return PrintCheckedFiles(checked, format);
}

void AddRulesCheck(CommandRegistrar& registrar, CLI::App& parent) {
  auto [command, options] = registrar.Add<RulesCheckOptions>(
      parent, "check", "Check rule files (NodeFeatureRule objects, lists of rules)",
      &RunRulesCheck);
  command.footer(
      "Exits 0 when all are valid, 7 when one is not. Warns of features and attributes that no\n"
      "source has, which may be misspelt.\n\n"
      "  kgpu labels check rules.yaml");
  command.add_option("FILE", options.files, "Rule files; - for standard input")->required();
  AddOutputOption(command, options.output);
}

void AddFlags(CLI::App& command, LabelsOptions& options) {
  AddOutputOption(command, options.output, "labels|table|json|yaml",
                  "Output format; labels: key=value lines");
  AddValue(command, "--only", options.only, "features|gpus",
           "Only the labels of the host's features, or of its GPUs");
  AddConfigOption(command, options.config);
  AddValue(command, "--rules", options.rules, "PATH",
           "Folders with rule files, instead of the configured ones");
  AddNodeOptions(command, options.node);
  CLI::Option* features =
      command.add_flag("--features", options.shows_raw,
                       "Print the raw features that rules match, as in a NodeFeature object");
  CLI::Option* explained = command
                               .add_flag("--explain-rules", options.explains_rules,
                                         "Print what each rule does, or its first term that fails")
                               ->excludes(features);
  CLI::Option* apply =
      command
          .add_flag("--apply", options.applies,
                    "Write labels, annotations, taints and extended resources to the Node object "
                    "once, except those that others own")
          ->excludes(features)
          ->excludes(explained);
  command.get_option("--kubeconfig")->needs(apply);
  command.get_option("--context")->needs(apply);
  AddRunDirOption(command, options.run_dir);
  command.add_flag("--dry-run", options.node.is_dry_run,
                   "With --apply, --write-file or --remove-file: show what would change");
  CLI::Option* write =
      command.add_flag("--write-file", options.writes_file,
                       "Write the configured feature file (labels.file) for an NFD on this node");
  CLI::Option* remove =
      command.add_flag("--remove-file", options.removes_file, "Remove the feature file");
  for (CLI::Option* other : {features, explained, apply}) {
    write->excludes(other);
    remove->excludes(other);
  }
  write->excludes(remove);
}

}  // namespace

void AddLabelsCommand(CommandRegistrar& registrar) {
  auto [command, options] = registrar.Add<LabelsOptions>(
      registrar.app(), "labels", "Show the node's feature and GPU labels", &RunLabels);
  command.footer(
      "The labels are those of Node Feature Discovery and GPU Feature Discovery. Only --apply and\n"
      "--write-file write anything; `kgpu agent` keeps the Node object up to date.\n"
      "\n"
      "  kgpu labels                                sorted key=value lines\n"
      "  kgpu labels --only gpus --output json      with annotations\n"
      "  kgpu labels --features --output yaml       what rules can match\n"
      "  kgpu labels --rules ./rules --explain-rules\n"
      "  kgpu labels check rules.yaml\n"
      "  kgpu labels --apply --dry-run              what an agent would change");
  AddFlags(command, options);
  AddHostOptions(command, options.host);
  AddRulesCheck(registrar, command);
}

}  // namespace kgpu::cli
