#include "src/cli/base/commands.h"

#include <boost/json/value.hpp>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/cli/base/ask_agent.h"
#include "src/cli/base/node_api.h"
#include "src/cli/base/options.h"
#include "src/cli/base/output.h"
#include "src/cli/base/progress.h"
#include "src/cli/node/node_change.h"
#include "src/node/object/edits.h"
#include "src/node/object/node_view.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::cli {
namespace {

struct StatusOptions {
  NodeOptions common;
  std::string run_dir = kRunDir;
  std::string host_root;
};

struct EditOptions {
  NodeOptions common;
  std::vector<std::string> words;
  bool overwrite = false;
};

// What the API server says, if no agent answers.
StatusOr<node::NodeReport> ReadNodeObject(const StatusOptions& options,
                                          const std::string& agent_problem) {
  const Progress progress("asking the API server");
  node::NodeReport report;
  ASSIGN_OR_RETURN(report.node, NodeNameOf(options.common));
  report.agent_problem = agent_problem;
  const auto api = NodeApi::Open(options.common);
  StatusOr<node::SeenNode> seen =
      api.ok() ? (*api)->ReadNode(report.node) : StatusOr<node::SeenNode>(api.status());
  if (seen.ok()) {
    node::Evidence evidence{.node = &*seen};
    if (node::HasMarks(evidence)) {
      if (auto pods = (*api)->ReadPods(report.node); pods.ok()) {
        evidence.pods = *std::move(pods);
      }
    }
    report.owners = node::FindOwners(evidence);
    report.seen = *std::move(seen);
    report.writer.is_settled = true;
  } else if (seen.status().code() == StatusCode::kNotFound && !options.common.node.empty()) {
    return seen.status();
  } else {
    report.api_problem = std::string(Message(seen.status()));
  }
  return report;
}

StatusOr<ExitCode> ShowNodeObject(const StatusOptions& options, OutputFormat format,
                                  const std::string& agent_problem) {
  ASSIGN_OR_RETURN(const node::NodeReport report, ReadNodeObject(options, agent_problem));
  RETURN_IF_ERROR(PrintAs(format, node::NodeTable(report), node::NodeJson(report)));
  return node::IsHealthy(report) ? ExitCode::kOk : ExitCode::kUnhealthy;
}

StatusOr<ExitCode> RunNodeStatus(const StatusOptions& options) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.common.output));
  ASSIGN_OR_RETURN(const std::string own, NodeNameOf({}));
  const std::string run_dir = BelowHostRoot(options.run_dir, kRunDir, options.host_root);
  if (!options.common.node.empty() && options.common.node != own &&
      options.common.node != NodeOfAgent(run_dir)) {
    return ShowNodeObject(options, format,
                          fmt::format("not asked: this host is node {}: run kgpu node status on {}",
                                      own, options.common.node));
  }
  if (!options.common.kubeconfig.empty()) {
    return ShowNodeObject(options, format,
                          "not asked: --kubeconfig asks the API server; leave it out to ask the "
                          "agent of this node");
  }
  const StatusOr<ExitCode> reported = PrintFromAgent(run_dir, "/v1/node", format);
  if (reported.ok()) {
    return reported;
  }
  return ShowNodeObject(options, format, std::string(Message(reported.status())));
}

StatusOr<ExitCode> RunLabel(const EditOptions& options) {
  std::vector<node::LabelEdit> edits;
  for (const std::string& word : options.words) {
    ASSIGN_OR_RETURN(node::LabelEdit edit, node::ParseLabelEdit(word));
    edits.push_back(std::move(edit));
  }
  return ChangeNode(options.common, [&](const node::SeenNode& seen) {
    return node::PlanLabels(seen, edits, options.overwrite);
  });
}

StatusOr<ExitCode> RunTaint(const EditOptions& options,
                            StatusOr<node::TaintEdit> (*parse)(std::string_view)) {
  std::vector<node::TaintEdit> edits;
  for (const std::string& word : options.words) {
    ASSIGN_OR_RETURN(node::TaintEdit edit, parse(word));
    edits.push_back(std::move(edit));
  }
  return ChangeNode(options.common, [&](const node::SeenNode& seen) {
    return node::PlanTaints(seen, edits, options.overwrite);
  });
}

void AddNodeStatus(CommandRegistrar& registrar, CLI::App& group) {
  auto [command, options] = registrar.Add<StatusOptions>(
      group, "status", "Show whether pods can get GPUs on the node, and the first problem if not",
      &RunNodeStatus);
  command.footer(
      "Exits 0 when the node is ready, or has and needs no GPU, else 7.\n"
      "\n"
      "  kgpu node status\n"
      "  kgpu node status --output json | jq -r .obstacle\n"
      "  kgpu node status --node gpu-7 --kubeconfig ~/.kube/config");
  AddNodeOptions(command, options.common);
  AddOutputOption(command, options.common.output);
  AddRunDirOption(command, options.run_dir);
  AddHostRootOption(command, options.host_root);
}

void AddWords(CLI::App& command, EditOptions& options, const char* name, const char* help) {
  command.add_option(name, options.words, help)->required();
  AddNodeOptions(command, options.common);
  AddChangeOptions(command, options.common);
}

void AddLabel(CommandRegistrar& registrar, CLI::App& group) {
  auto [command, options] =
      registrar.Add<EditOptions>(group, "label", "Add and remove labels of the node", &RunLabel);
  command.footer(
      "  kgpu node label gpu=true\n"
      "  kgpu node label example.com/pool=training old-label- --node gpu-7 --dry-run");
  AddWords(command, options, "LABEL", "KEY=VALUE adds a label, KEY- removes it");
  command.add_flag("--overwrite", options.overwrite, "Overwrite existing values");
}

void AddTaint(CommandRegistrar& registrar, CLI::App& group) {
  auto [command, options] = registrar.Add<EditOptions>(
      group, "taint", "Add and remove taints of the node",
      [](const EditOptions& given) { return RunTaint(given, &node::ParseTaintEdit); });
  command.footer(
      "EFFECT is NoSchedule, PreferNoSchedule or NoExecute.\n\n"
      "  kgpu node taint nvidia.com/gpu=present:NoSchedule\n"
      "  kgpu node taint nvidia.com/gpu-");
  AddWords(command, options, "TAINT",
           "KEY[=VALUE]:EFFECT adds a taint, KEY- or KEY:EFFECT- removes it");
  command.add_flag("--overwrite", options.overwrite, "Overwrite existing values");
}

void AddUntaint(CommandRegistrar& registrar, CLI::App& group) {
  auto [command, options] = registrar.Add<EditOptions>(
      group, "untaint", "Remove taints of the node",
      [](const EditOptions& given) { return RunTaint(given, &node::ParseUntaint); });
  command.footer("  kgpu node untaint node-role.kubernetes.io/control-plane");
  AddWords(command, options, "KEY", "KEY or KEY:EFFECT");
}

void AddFrom(CLI::App& command, DecideOptions& options) {
  AddValue(
      command, "--from", options.from, "nfd|gfd|plugin|all",
      "Take over from nfd (feature.node.kubernetes.io labels), gfd (nvidia.com labels), plugin "
      "(nvidia.com resources) or all");
  AddNodeOptions(command, options.common);
  AddChangeOptions(command, options.common);
}

void AddAdopt(CommandRegistrar& registrar, CLI::App& group) {
  auto [command, options] = registrar.Add<DecideOptions>(
      group, "adopt",
      "Take ownership of what Node Feature Discovery, GFD or NVIDIA's plugin set on the node",
      &RunAdopt);
  command.footer(
      "Records the decision on the node; the agent applies it within a second. Prints the command\n"
      "that removes the other owner: run it soon.\n"
      "\n"
      "  kgpu node adopt --dry-run\n"
      "  kgpu node adopt --from nfd");
  AddFrom(command, options);
}

void AddRelease(CommandRegistrar& registrar, CLI::App& group) {
  auto [command, options] = registrar.Add<DecideOptions>(
      group, "release", "Give labels or resources back to their other owners", &RunRelease);
  command.footer("  kgpu node release --from gfd\n  kgpu node release --forget");
  AddFrom(command, options);
  command.add_flag("--forget", options.forget,
                   "Forget previous adopt and release commands: the first owner keeps them");
}

void AddClear(CommandRegistrar& registrar, CLI::App& group) {
  auto [command, options] = registrar.Add<ClearOptions>(
      group, "clear", "Remove everything that kgpu set on the node, before you uninstall it",
      &RunClear);
  options.run_dir = kRunDir;
  command.footer(
      "Removes labels, annotations, taints, the condition, extended resources, the NodeFeature "
      "and\n"
      "the feature file. Keeps what kgpu node label and kgpu node taint set.\n"
      "\n"
      "  kgpu node clear --dry-run\n"
      "  kgpu node clear --host-files          what the agent left on this host; no cluster "
      "needed");
  CLI::Option* host_files = command.add_flag("--host-files", options.only_host_files,
                                             "Remove the agent's files from this host instead");
  AsPath(AddValue(command, "--kubelet-dir", options.kubelet_dir, "DIR",
                  "With --host-files: the agent's --kubelet-dir, if it had one"))
      ->needs(host_files);
  AddNodeOptions(command, options.common);
  AddChangeOptions(command, options.common);
  AddRunDirOption(command, options.run_dir);
  AddHostRootOption(command, options.host_root);
  command.add_flag("--force", options.force,
                   "Continue even though a running agent will restore it");
}

}  // namespace

void AddNodeCommands(CommandRegistrar& registrar) {
  CLI::App& group =
      registrar.AddGroup("node", "Set up this host as a GPU node, or change its Node object");
  group.footer(
      "  kgpu node up --dry-run\n"
      "  kgpu node status\n"
      "  kgpu node down");
  AddNodeUpCommands(registrar, group);
  AddNodeStatus(registrar, group);
  AddLabel(registrar, group);
  AddTaint(registrar, group);
  AddUntaint(registrar, group);
  AddAdopt(registrar, group);
  AddRelease(registrar, group);
  AddClear(registrar, group);
}

}  // namespace kgpu::cli
