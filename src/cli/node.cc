#include "src/cli/node.h"

#include <boost/json/value.hpp>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/cli/ask_agent.h"
#include "src/cli/node_api.h"
#include "src/cli/node_change.h"
#include "src/cli/node_up.h"
#include "src/cli/output.h"
#include "src/node/object/edits.h"
#include "src/node/object/node_view.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::cli {
namespace {

struct StatusOptions {
  NodeOptions common;
  std::string run_dir = kRunDir;
};

struct EditOptions {
  NodeOptions common;
  std::vector<std::string> words;
  bool overwrite = false;
};

// What the API server says, where no agent tells.
StatusOr<ExitCode> ShowNodeObject(const StatusOptions& options, OutputFormat format,
                                  const std::string& agent_problem) {
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
  } else {
    report.api_problem = std::string(Message(seen.status()));
  }
  RETURN_IF_ERROR(PrintOut(format == OutputFormat::kTable
                               ? node::NodeTable(report)
                               : Render(node::NodeJson(report), format)));
  return node::IsWell(report) ? ExitCode::kOk : ExitCode::kUnhealthy;
}

StatusOr<ExitCode> RunNodeStatus(const StatusOptions& options) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.common.output));
  if (!options.common.node.empty() || !options.common.kubeconfig.empty()) {
    return ShowNodeObject(options, format, "not asked: another node or server was named");
  }
  const StatusOr<ExitCode> told = PrintFromAgent(options.run_dir, "/v1/node", format);
  if (told.ok()) {
    return told;
  }
  return ShowNodeObject(options, format, std::string(Message(told.status())));
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

void AddNodeStatus(VerbRegistrar& verbs, CLI::App& group) {
  auto options = std::make_shared<StatusOptions>();
  CLI::App* verb = group.add_subcommand(
      "status", "Show whether the node can give GPUs to pods, and the first thing that is wrong");
  verb->footer(
      "Exits 0 when the node is ready, or has no GPU and nobody expects one, else 7.\n\n"
      "  kgpu node status\n"
      "  kgpu node status --output json | jq -r .obstacle\n"
      "  kgpu node status --node gpu-7 --kubeconfig ~/.kube/config");
  AddNodeOptions(*verb, options->common);
  AddOutputOption(*verb, options->common.output);
  AddRunDirOption(*verb, options->run_dir);
  verbs.OnRun(*verb, [options] { return RunNodeStatus(*options); });
}

void AddWords(CLI::App& verb, EditOptions& options, const char* name, const char* help) {
  verb.add_option(name, options.words, help)->required();
  AddNodeOptions(verb, options.common);
  AddChangeOptions(verb, options.common);
}

void AddLabel(VerbRegistrar& verbs, CLI::App& group) {
  auto options = std::make_shared<EditOptions>();
  CLI::App* verb = group.add_subcommand("label", "Set and remove labels of the node");
  verb->footer(
      "  kgpu node label gpu=true\n"
      "  kgpu node label example.com/pool=training old-label- --node gpu-7 --dry-run");
  AddWords(*verb, *options, "LABEL", "KEY=VALUE sets, KEY- removes");
  verb->add_flag("--overwrite", options->overwrite, "Replace a value that is another");
  verbs.OnRun(*verb, [options] { return RunLabel(*options); });
}

void AddTaint(VerbRegistrar& verbs, CLI::App& group) {
  auto options = std::make_shared<EditOptions>();
  CLI::App* verb = group.add_subcommand("taint", "Set and remove taints; others stay as they are");
  verb->footer(
      "EFFECT is NoSchedule, PreferNoSchedule or NoExecute.\n\n"
      "  kgpu node taint nvidia.com/gpu=present:NoSchedule\n"
      "  kgpu node taint nvidia.com/gpu-");
  AddWords(*verb, *options, "TAINT", "KEY[=VALUE]:EFFECT sets, KEY- or KEY:EFFECT- removes");
  verb->add_flag("--overwrite", options->overwrite, "Replace a value that is another");
  verbs.OnRun(*verb, [options] { return RunTaint(*options, &node::ParseTaintEdit); });
}

void AddUntaint(VerbRegistrar& verbs, CLI::App& group) {
  auto options = std::make_shared<EditOptions>();
  CLI::App* verb = group.add_subcommand("untaint", "Remove taints of the node");
  verb->footer("  kgpu node untaint node-role.kubernetes.io/control-plane");
  AddWords(*verb, *options, "KEY", "KEY or KEY:EFFECT");
  verbs.OnRun(*verb, [options] { return RunTaint(*options, &node::ParseUntaint); });
}

void AddFrom(CLI::App& verb, DecideOptions& options) {
  verb.add_option("--from", options.from,
                  "nfd (feature.node.kubernetes.io labels), gfd (nvidia.com labels), plugin "
                  "(nvidia.com resources) or all")
      ->type_name("OWNER")
      ->capture_default_str();
  AddNodeOptions(verb, options.common);
  AddChangeOptions(verb, options.common);
}

void AddAdopt(VerbRegistrar& verbs, CLI::App& group) {
  auto options = std::make_shared<DecideOptions>();
  CLI::App* verb = group.add_subcommand(
      "adopt", "Take over what Node Feature Discovery, GFD or NVIDIA's plugin own on the node");
  verb->footer(
      "Records the decision on the node; its agent acts on it within a second. Prints the command\n"
      "that removes the other owner: run it soon.\n\n"
      "  kgpu node adopt --dry-run\n"
      "  kgpu node adopt --from nfd");
  AddFrom(*verb, *options);
  verbs.OnRun(*verb, [options] { return RunAdopt(*options); });
}

void AddRelease(VerbRegistrar& verbs, CLI::App& group) {
  auto options = std::make_shared<DecideOptions>();
  CLI::App* verb = group.add_subcommand("release", "Leave labels or resources to others again");
  verb->footer("  kgpu node release --from gfd\n  kgpu node release --forget");
  AddFrom(*verb, *options);
  verb->add_flag("--forget", options->forget,
                 "Forget what adopt and release said: who came first stays");
  verbs.OnRun(*verb, [options] { return RunRelease(*options); });
}

void AddClear(VerbRegistrar& verbs, CLI::App& group) {
  auto options = std::make_shared<ClearOptions>();
  options->run_dir = kRunDir;
  CLI::App* verb = group.add_subcommand(
      "clear", "Take everything of kgpu's off the node: for when it is uninstalled");
  verb->footer(
      "Labels, annotations, taints, condition, extended resources, NodeFeature and feature file.\n"
      "What was set by kgpu node label or taint stays.\n\n"
      "  kgpu node clear --dry-run");
  AddNodeOptions(*verb, options->common);
  AddChangeOptions(*verb, options->common);
  AddRunDirOption(*verb, options->run_dir);
  verb->add_option("--host-root", options->host_root, "Folder where the host's files are seen")
      ->envname("KGPU_HOST_ROOT")
      ->type_name("DIR");
  verb->add_flag("--force", options->force, "Though an agent runs here, which writes it again");
  verbs.OnRun(*verb, [options] { return RunClear(*options); });
}

}  // namespace

void AddNodeVerbs(VerbRegistrar& verbs) {
  CLI::App* group = verbs.app().add_subcommand(
      "node", "This host as a GPU node: up, down; its Node object: status, label, taint and so on");
  group->require_subcommand(1);
  AddNodeUpVerbs(verbs, *group);
  AddNodeStatus(verbs, *group);
  AddLabel(verbs, *group);
  AddTaint(verbs, *group);
  AddUntaint(verbs, *group);
  AddAdopt(verbs, *group);
  AddRelease(verbs, *group);
  AddClear(verbs, *group);
}

}  // namespace kgpu::cli
