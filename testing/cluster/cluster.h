// A small Kubernetes cluster around the stub API server: the controllers of DaemonSets,
// Deployments, Jobs and disruption budgets, the scheduler, and the kubelets of all nodes.
// docs/how-it-works/stub-apiserver.md lists what they do and what not.
#pragma once

#include <boost/json/array.hpp>

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "testing/apiserver/api.h"
#include "testing/cluster/kubelets.h"

namespace kgpu::simcluster {

struct ClusterOptions {
  // From a change until the controllers act on it, together with all changes until then.
  std::chrono::milliseconds sync_delay{20};
  std::chrono::milliseconds job_backoff{10'000};  // after a job's first failure; doubles
  PodScript script = PlanFromEnvironment;
};

struct NodeTemplate {
  std::string name{};
  std::map<std::string, std::string> labels{};
  // Quantities beside cpu 64, memory 512Gi and pods 110: {"nvidia.com/gpu", "8"}.
  std::map<std::string, std::string> resources{};
  boost::json::array taints{};
};

// Acts on every change in `api`, whoever makes it, in the loop's time; the same changes give the
// same cluster. Loop thread only; `loop` and `api` outlive it.
class Cluster {
 public:
  Cluster(EventLoop& loop, apiserver::Api& api, ClusterOptions options = {});
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  // Nodes that anybody else creates through the API are run, too. Errors: Failures.
  Status AddNode(const NodeTemplate& node);
  // For pods that get their node from now on.
  void SetScript(PodScript script);
  // What the API server refused to the controllers: a mistake in the test's objects, or ours.
  const std::vector<std::string>& problems() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kgpu::simcluster
