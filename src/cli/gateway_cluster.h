// The functions of a cluster for `kgpu gateway --provider kubernetes`.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/cli/queue_options.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "src/platform/http/server.h"
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
  std::string mesh_url;
  std::string prometheus_url;
  std::vector<std::string> gpu_seconds_per_day;  // "NAMESPACE=SECONDS"
  QueueCommandOptions queue;
};

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
  // Lets another gateway scale. `done` is called once, from the loop.
  void Release(std::function<void()> done);
  // For people: "https://10.0.0.1:6443".
  const std::string& server() const;

 private:
  struct Impl;
  explicit ClusterFunctions(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kgpu::cli
