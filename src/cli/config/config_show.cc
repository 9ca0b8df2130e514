#include <boost/json/value.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/cli/base/ask_agent.h"
#include "src/cli/base/commands.h"
#include "src/cli/base/node_api.h"
#include "src/cli/base/options.h"
#include "src/cli/base/output.h"
#include "src/cli/base/progress.h"
#include "src/kube/api/json.h"
#include "src/kube/api/resource.h"
#include "src/node/choice/choice.h"
#include "src/node/choice/report.h"
#include "src/node/object/seen_node.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::cli {
namespace {

namespace json = boost::json;

// Size of a chunk of a list: no more nodes are in memory at a time.
constexpr char kNodeChunk[] = "500";

struct ConfigShowOptions {
  NodeOptions common;
  std::string run_dir = kRunDir;
  std::string host_root;
  bool is_live = false;
};

// Nothing: no node of kgpu's.
std::optional<choice::NodeRow> RowOfNode(const node::SeenNode& seen, bool is_named) {
  if (const auto& condition = seen.gpu_configured) {
    return choice::RowOf(
        seen.name, choice::Condition{condition->status, condition->reason, condition->message});
  }
  const bool is_label_set = choice::NamesConfig(seen.labels.values);
  if (seen.gpu_ready && !is_label_set) {
    return choice::RowOf(seen.name, std::nullopt);
  }
  if (!is_named && !is_label_set) {
    return std::nullopt;
  }
  return choice::NodeRow{.node = seen.name,
                         .state = "unreported",
                         .problem =
                             "no agent has reported its configuration: check that "
                             "kgpu-agent runs there, in this version"};
}

StatusOr<std::vector<choice::NodeRow>> ListNodes(NodeApi& api) {
  std::vector<choice::NodeRow> rows;
  std::string next;
  do {
    kube::ApiRequest request{.path = kube::kNodes.Collection(), .query = {{"limit", kNodeChunk}}};
    if (!next.empty()) {
      request.query.emplace_back("continue", next);
    }
    ASSIGN_OR_RETURN(const json::value answer, api.Send(std::move(request)));
    const json::value* items = kube::FindField(answer, {"items"});
    if (items != nullptr && items->is_array()) {
      for (const json::value& item : items->get_array()) {
        const StatusOr<node::SeenNode> seen = node::ReadNode(item);
        if (auto row = seen.ok() ? RowOfNode(*seen, false) : std::nullopt) {
          rows.push_back(*std::move(row));
        }
      }
    }
    next = std::string(kube::TextField(answer, {"metadata", "continue"}));
  } while (!next.empty());
  return rows;
}

StatusOr<std::vector<choice::NodeRow>> ReadRows(NodeApi& api, const std::string& name) {
  const Progress progress("asking the API server");
  if (name.empty()) {
    return ListNodes(api);
  }
  ASSIGN_OR_RETURN(const node::SeenNode seen, api.ReadNode(name));
  return std::vector<choice::NodeRow>{RowOfNode(seen, true).value()};
}

StatusOr<ExitCode> ShowNodes(NodeApi& api, const std::string& name, OutputFormat format) {
  ASSIGN_OR_RETURN(const std::vector<choice::NodeRow> rows, ReadRows(api, name));
  RETURN_IF_ERROR(PrintAs(
      format, rows.empty() ? "no node of this cluster has a kgpu agent\n" : choice::RowsTable(rows),
      choice::RowsJson(rows)));
  const bool is_applied = std::ranges::all_of(rows, [](const choice::NodeRow& row) {
    return row.state == choice::ToString(choice::State::kApplied);
  });
  return is_applied ? ExitCode::kOk : ExitCode::kUnhealthy;
}

StatusOr<ExitCode> RunConfigShow(const ConfigShowOptions& options) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.common.output));
  const NodeOptions& common = options.common;
  const bool names_cluster =
      !common.node.empty() || !common.kubeconfig.empty() || !common.context.empty();
  const std::string run_dir = BelowHostRoot(options.run_dir, kRunDir, options.host_root);
  if (!options.is_live && names_cluster) {
    return InvalidArgument("--node, --kubeconfig and --context are about a cluster: add --live");
  }
  if (!options.is_live) {
    return PrintFromAgent(run_dir, "/v1/config", format);
  }
  const auto api = NodeApi::Open(common);
  if (api.ok()) {
    return ShowNodes(**api, common.node, format);
  }
  // On a node without credentials, its own configuration is what can be said.
  if (names_cluster || !IsAgentRunning(run_dir).value_or(false)) {
    return api.status();
  }
  PrintNote(fmt::format("only this node: {}", Message(api.status())));
  return PrintFromAgent(run_dir, "/v1/config", format);
}

}  // namespace

void AddConfigShowCommand(CommandRegistrar& registrar, CLI::App& group) {
  auto [command, options] = registrar.Add<ConfigShowOptions>(
      group, "show", "Show which configuration runs, on this node or on every node",
      &RunConfigShow);
  command.footer(
      "Without --live, prints the complete configuration of this node's agent and what chose it.\n"
      "With --live, lists the nodes of the cluster, as their agents report by the condition\n"
      "GPUConfigured. Exits 7 when a configuration is invalid or unknown.\n"
      "\n"
      "  kgpu config show\n"
      "  kgpu config show --live\n"
      "  kgpu config show --live --output json | jq '.nodes[] | select(.problem != \"\")'");
  command.add_flag("--live", options.is_live, "Ask the API server what each node runs");
  AddValue(command, "--node", options.common.node, "NAME", "With --live: only this node");
  AddClusterOptions(command, options.common);
  AddOutputOption(command, options.common.output);
  AddRunDirOption(command, options.run_dir);
  AddHostRootOption(command, options.host_root);
}

}  // namespace kgpu::cli
