// The API server for `kgpu node` commands: one request at a time, blocking.
#pragma once

#include <boost/json/fwd.hpp>

#include <memory>
#include <string>
#include <vector>

#include "src/cli/base/options.h"
#include "src/kube/api/client.h"
#include "src/kube/api/find_config.h"
#include "src/node/object/owners.h"
#include "src/node/object/seen_node.h"
#include "src/platform/base/status.h"

namespace kgpu::cli {

struct NodeOptions {
  std::string node;        // empty: the host's name
  std::string kubeconfig;  // empty: kubectl's, else the pod's own
  std::string context;     // empty: the current one
  std::string output = "table";
  bool is_dry_run = false;
  bool reads_much = false;  // more requests per second: a person waits for many answers
};

// --node, --kubeconfig, --context; `options` outlives the parse.
void AddNodeOptions(CLI::App& command, NodeOptions& options);
// --kubeconfig and --context alone.
void AddClusterOptions(CLI::App& command, NodeOptions& options);
// --dry-run and --output of a command that changes something.
void AddChangeOptions(CLI::App& command, NodeOptions& options);

// Where a command finds its cluster. Errors: InvalidArgument (a kubeconfig that was named and does
// not exist).
StatusOr<kube::ConfigSources> ClusterSources(const std::string& kubeconfig,
                                             const std::string& context);

// `options.node`, else the host's name in lower case, as the kubelet registers.
StatusOr<std::string> NodeNameOf(const NodeOptions& options);

class NodeApi {
 public:
  // Errors: NotFound, InvalidArgument (the kubeconfig), FailedPrecondition (no credentials here).
  static StatusOr<std::unique_ptr<NodeApi>> Open(const NodeOptions& options);
  virtual ~NodeApi() = default;

  // Errors: those of kube::Client::Send.
  virtual StatusOr<boost::json::value> Send(kube::ApiRequest request) = 0;

  // A response that is text, at most `limit` bytes of it. Errors: those of Send; Unimplemented.
  virtual StatusOr<std::string> ReadText(const kube::ApiRequest& request, size_t limit);

  // The namespace of the context.
  virtual std::string Space() const { return "default"; }

  // Errors: NotFound with the fix, and those of Send.
  StatusOr<node::SeenNode> ReadNode(const std::string& name);
  // The pods of other owners on the node. Errors: those of Send.
  StatusOr<std::vector<node::SeenPod>> ReadPods(const std::string& name);
};

}  // namespace kgpu::cli
