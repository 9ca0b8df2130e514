#include "src/cli/doctor/doctor_hear.h"

#include <boost/json/value.hpp>

#include <memory>
#include <utility>

#include <fmt/format.h>

#include "src/cli/base/ask_agent.h"
#include "src/cli/base/config_file.h"
#include "src/cli/base/options.h"
#include "src/kube/api/resource.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/doc/doc.h"

namespace kgpu::cli {
namespace {

constexpr std::string_view kAgentSets = "/apis/apps/v1/daemonsets";
constexpr std::string_view kAgentSelector = "app.kubernetes.io/name=kgpu-agent";

// Its faults that are open now, also of events that a look at the driver does not show.
void HearHealth(const std::string& folder, doctor::Heard& heard) {
  const StatusOr<std::string> text = ReadFromAgent(folder, "/v1/health");
  const Status status = text.ok() ? doctor::ReadAgentHealth(*text, *heard.agent) : text.status();
  if (!status.ok()) {
    heard.unanswered.push_back(fmt::format("the agent's health: {}", Message(status)));
  }
}

void HearAgent(const sys::Root& host, const HearOptions& options, doctor::Heard& heard) {
  const std::string folder = options.run_dir == kRunDir ? host.At(kRunDir) : options.run_dir;
  const StatusOr<std::string> text = ReadFromAgent(folder, "/v1/status");
  if (!text.ok()) {
    // That none runs is a finding, where one should.
    if (!IsNoAgent(text.status()) || text.status().code() == StatusCode::kPermissionDenied) {
      heard.unanswered.push_back(fmt::format("the agent: {}", Message(text.status())));
    }
    return;
  }
  StatusOr<doctor::AgentFacts> agent = doctor::ParseAgentStatus(*text);
  if (agent.ok()) {
    heard.agent = *std::move(agent);
    HearHealth(folder, heard);
  } else {
    heard.unanswered.push_back(std::string(Message(agent.status())));
  }
}

StatusOr<doctor::ClusterFacts> ReadNodeFile(const std::string& file) {
  ASSIGN_OR_RETURN(const TextFile text, ReadTextFile(file));
  ASSIGN_OR_RETURN(const boost::json::value tree,
                   doc::Parse(text.text, doc::Format::kYaml, text.name));
  doctor::ClusterFacts cluster;
  StatusOr<node::SeenNode> node = node::ReadNode(tree);
  if (!node.ok()) {
    return Annotate(node.status(), "{}", text.name);
  }
  cluster.node = *std::move(node);
  return cluster;
}

void HearCluster(NodeApi& api, const std::string& name, doctor::Heard& heard) {
  StatusOr<node::SeenNode> node = api.ReadNode(name);
  if (!node.ok()) {
    heard.unanswered.push_back(fmt::format("the cluster: {}", Message(node.status())));
    return;
  }
  doctor::ClusterFacts cluster;
  cluster.node = *std::move(node);
  if (StatusOr<std::vector<node::SeenPod>> pods = api.ReadPods(name); pods.ok()) {
    cluster.pods = *std::move(pods);
  } else {
    heard.unanswered.push_back(fmt::format("pods of node {}: {}", name, Message(pods.status())));
  }
  const StatusOr<boost::json::value> sets = api.Send(
      {.path = std::string(kAgentSets), .query = {{"labelSelector", std::string(kAgentSelector)}}});
  if (sets.ok()) {
    cluster.agent_sets = doctor::ReadAgentSets(*sets);
  } else {
    heard.unanswered.push_back(fmt::format("DaemonSets: {}", Message(sets.status())));
  }
  heard.cluster = std::move(cluster);
}

}  // namespace

StatusOr<doctor::Heard> Hear(const sys::Root& host, const HearOptions& options) {
  doctor::Heard heard;
  HearAgent(host, options, heard);
  if (!options.node_file.empty()) {
    ASSIGN_OR_RETURN(heard.cluster, ReadNodeFile(options.node_file));
    return heard;
  }
  const NodeOptions& node = options.node;
  if (!node.kubeconfig.empty() || !node.context.empty() || !node.node.empty()) {
    ASSIGN_OR_RETURN(const std::string name, NodeNameOf(node));
    ASSIGN_OR_RETURN(const std::unique_ptr<NodeApi> api, NodeApi::Open(node));
    HearCluster(*api, name, heard);
  }
  return heard;
}

}  // namespace kgpu::cli
