#include "src/cli/base/node_api.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <boost/json/value.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "src/cli/base/environment.h"
#include "src/cli/base/node_name.h"
#include "src/cli/base/options.h"
#include "src/cli/base/output.h"
#include "src/cli/base/version.h"
#include "src/kube/api/cluster.h"
#include "src/kube/api/json.h"
#include "src/kube/api/resource.h"
#include "src/kube/api/run_until_done.h"
#include "src/kube/api/writes.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/random.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/sys/root.h"

namespace kgpu::cli {
namespace {

namespace json = boost::json;

// Size of a chunk of a list: no more of a node's pods are in memory at a time.
constexpr char kPodChunk[] = "50";

std::string Machine() {
  utsname name = {};
  return uname(&name) == 0 ? name.machine : "unknown";
}

class ClusterApi final : public NodeApi {
 public:
  static StatusOr<std::unique_ptr<NodeApi>> Open(const NodeOptions& options) {
    ASSIGN_OR_RETURN(auto loop, EpollLoop::Create());
    ASSIGN_OR_RETURN(sys::Root root, sys::Root::Open("/"));
    auto api = std::unique_ptr<ClusterApi>(new ClusterApi(std::move(loop), std::move(root)));
    kube::ClusterOptions cluster;
    ASSIGN_OR_RETURN(cluster.sources, ClusterSources(options.kubeconfig, options.context));
    cluster.client.user_agent = kube::UserAgent("kgpu", VersionNumber(), Machine());
    if (options.reads_much) {
      cluster.client.gate.per_second = 30;
      cluster.client.gate.burst = 60;
    }
    ASSIGN_OR_RETURN(api->cluster_, kube::Cluster::Open(*api->loop_, api->random_, api->root_,
                                                        std::move(cluster)));
    return api;
  }

  StatusOr<json::value> Send(kube::ApiRequest request) override {
    return kube::Fetch(*loop_, cluster_->client(), std::move(request));
  }

  StatusOr<std::string> ReadText(const kube::ApiRequest& request, size_t limit) override {
    std::string text;
    return kube::RunUntilDone<std::string>(*loop_, [&](const auto& done) {
      return cluster_->client().Stream(
          request, {.on_text =
                        [&text, limit](std::string_view piece) {
                          text += piece.substr(0, limit - std::min(limit, text.size()));
                        },
                    .on_end =
                        [&text, done](const Status& status) {
                          done(status.ok() ? StatusOr<std::string>(std::move(text)) : status);
                        }});
    });
  }

  std::string Space() const override {
    return cluster_->space().empty() ? "default" : cluster_->space();
  }

 private:
  ClusterApi(std::unique_ptr<EpollLoop> loop, sys::Root root)
      : loop_(std::move(loop)), root_(std::move(root)) {}

  std::unique_ptr<EpollLoop> loop_;
  sys::Root root_;
  Random random_{Random::SeedFromKernel()};
  std::unique_ptr<kube::Cluster> cluster_;
};

}  // namespace

StatusOr<std::string> NodeApi::ReadText(const kube::ApiRequest& /*request*/, size_t /*limit*/) {
  return Unimplemented("no texts here");
}

void AddNodeOptions(CLI::App& command, NodeOptions& options) {
  // Not by envname: a command has to tell another node that was asked for from this one.
  AddValue(command, "--node", options.node, "NAME",
           "Name of the node (default: $NODE_NAME, else this host's name)");
  AddClusterOptions(command, options);
}

void AddClusterOptions(CLI::App& command, NodeOptions& options) {
  AddValue(command, "--kubeconfig", options.kubeconfig, "FILE",
           "Kubeconfig of the cluster (default: $KUBECONFIG, ~/.kube/config, the pod's service "
           "account)");
  AddValue(command, "--context", options.context, "NAME",
           "Context in the kubeconfig (default: the current one)");
}

void AddChangeOptions(CLI::App& command, NodeOptions& options) {
  command.add_flag("--dry-run", options.is_dry_run,
                   "Show what would change; the server validates it but writes nothing");
  AddOutputOption(command, options.output);
}

StatusOr<kube::ConfigSources> ClusterSources(const std::string& kubeconfig,
                                             const std::string& context) {
  std::error_code error;
  if (!kubeconfig.empty() && !std::filesystem::exists(kubeconfig, error) && !error) {
    return InvalidArgument("--kubeconfig: {}: no such file: correct the path, or create it",
                           kubeconfig);
  }
  return kube::ConfigSources{.kubeconfig = kubeconfig,
                             .context = context,
                             .environment = Environment(),
                             .working_folder = std::filesystem::current_path(error).string()};
}

StatusOr<std::string> NodeNameOf(const NodeOptions& options) {
  constexpr std::string_view kVariable = "NODE_NAME=";
  std::string given = options.node;
  for (const std::string& variable : given.empty() ? Environment() : std::vector<std::string>()) {
    if (variable.starts_with(kVariable)) {
      given = variable.substr(kVariable.size());
    }
  }
  std::string name = NodeName(given);
  if (name.empty()) {
    return InvalidArgument("cannot determine this host's name: set --node");
  }
  return name;
}

StatusOr<std::unique_ptr<NodeApi>> NodeApi::Open(const NodeOptions& options) {
  return ClusterApi::Open(options);
}

StatusOr<node::SeenNode> NodeApi::ReadNode(const std::string& name) {
  const StatusOr<json::value> answer = Send({.path = kube::kNodes.Object("", name)});
  if (answer.status().code() == StatusCode::kNotFound) {
    return NotFound("node {}: not found: set --node (`kubectl get nodes` lists the names)", name);
  }
  RETURN_IF_ERROR(answer.status());
  return node::ReadNode(*answer);
}

StatusOr<std::vector<node::SeenPod>> NodeApi::ReadPods(const std::string& name) {
  std::vector<node::SeenPod> pods;
  std::string next;
  do {
    kube::ApiRequest request{
        .path = kube::kPods.Collection(),
        .query = {{"fieldSelector", fmt::format("spec.nodeName={}", name)}, {"limit", kPodChunk}}};
    if (!next.empty()) {
      request.query.emplace_back("continue", next);
    }
    ASSIGN_OR_RETURN(const json::value answer, Send(std::move(request)));
    const json::value* items = kube::FindField(answer, {"items"});
    if (items != nullptr && items->is_array()) {
      for (const json::value& item : items->get_array()) {
        if (node::SeenPod pod = node::ReadPod(item); node::OwnerOfPod(pod)) {
          pods.push_back(std::move(pod));
        }
      }
    }
    next = std::string(kube::TextField(answer, {"metadata", "continue"}));
  } while (!next.empty());
  return pods;
}

}  // namespace kgpu::cli
