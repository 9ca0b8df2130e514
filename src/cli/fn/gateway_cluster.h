// The functions of a cluster for `kgpu fn gateway --provider kubernetes`.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/cli/fn/queue_options.h"
#include "src/functions/kubernetes/deployer.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "src/platform/net/http/server.h"
#include "src/platform/sys/root.h"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's name
class App;
}

namespace kgpu::cli {

struct GatewayClusterOptions {
  std::string kubeconfig;
  std::string context;
  std::vector<std::string> spaces = {"kgpu-functions"};
  std::string state_dir = "/var/lib/kgpu";
  std::string mesh_listen = "off";
  std::string mesh_url;
  std::string prometheus_url;
  std::vector<std::string> gpu_seconds_per_day;  // "NAMESPACE=SECONDS"
  std::vector<std::string> model_resources;      // "MODEL=RESOURCE"
  std::vector<std::string> memory_resources;     // "20Gi=RESOURCE"
  QueueCommandOptions queue;
};

// What functions get for their GPUs, and where they find things. Errors: InvalidArgument: the flag
// and its value.
StatusOr<functions::DeployerOptions> DeployerOptionsOf(const GatewayClusterOptions& options);

void AddGatewayClusterOptions(CLI::App& command, GatewayClusterOptions& options);

// Lives on the loop's thread.
class ClusterFunctions {
 public:
  // `loop` and `root` must outlive it. Errors: those of the kubeconfig, of the flags and of the
  // queue.
  static StatusOr<std::unique_ptr<ClusterFunctions>> Start(EventLoop& loop, const sys::Root& root,
                                                           const GatewayClusterOptions& options);
  ~ClusterFunctions();
  ClusterFunctions(const ClusterFunctions&) = delete;
  ClusterFunctions& operator=(const ClusterFunctions&) = delete;

  // Answers a gateway's requests. This must outlive the handler.
  http::Server::Handler handler();
  // Takes no more calls from functions, and lets another gateway scale: `released` is called once,
  // from the loop.
  void Drain(std::function<void()> released);
  // Whether calls from functions are in progress.
  bool is_busy() const;
  // For people: "https://10.0.0.1:6443".
  const std::string& server() const;

 private:
  struct Impl;
  explicit ClusterFunctions(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kgpu::cli
