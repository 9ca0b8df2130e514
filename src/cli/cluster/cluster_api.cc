#include "src/cli/cluster/cluster_api.h"

#include <sys/utsname.h>

#include <CLI/CLI.hpp>
#include <utility>

#include "src/cli/base/node_api.h"
#include "src/cli/base/options.h"
#include "src/cli/base/version.h"
#include "src/kube/api/cluster.h"
#include "src/kube/api/writes.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/random.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/sys/root.h"

namespace kgpu::cli {

struct ClusterApi::Impl {
  Impl(std::unique_ptr<EpollLoop> its_loop, sys::Root its_root)
      : loop(std::move(its_loop)), root(std::move(its_root)) {}

  std::unique_ptr<EpollLoop> loop;
  sys::Root root;
  Random random{Random::SeedFromKernel()};
  std::unique_ptr<kube::Cluster> cluster{};
  std::unique_ptr<kube::LoopClient> client{};
  std::unique_ptr<kube::Kinds> kinds{};
};

void AddClusterAccess(CLI::App& command, ClusterAccess& access) {
  AddValue(command, "--kubeconfig", access.kubeconfig, "FILE",
           "Kubeconfig of the cluster (default: $KUBECONFIG, ~/.kube/config)");
  AddValue(command, "--context", access.context, "NAME",
           "Context in the kubeconfig (default: the current one)");
}

StatusOr<std::unique_ptr<ClusterApi>> ClusterApi::Open(const ClusterAccess& access) {
  ASSIGN_OR_RETURN(auto loop, EpollLoop::Create());
  ASSIGN_OR_RETURN(sys::Root root, sys::Root::Open("/"));
  auto impl = std::make_unique<Impl>(std::move(loop), std::move(root));
  kube::ClusterOptions options;
  ASSIGN_OR_RETURN(options.sources, ClusterSources(access.kubeconfig, access.context));
  utsname system = {};
  options.client.user_agent =
      kube::UserAgent("kgpu", VersionNumber(), uname(&system) == 0 ? system.machine : "unknown");
  // A person waits for many answers.
  options.client.gate.per_second = 50;
  options.client.gate.burst = 100;
  ASSIGN_OR_RETURN(impl->cluster,
                   kube::Cluster::Open(*impl->loop, impl->random, impl->root, std::move(options)));
  impl->client = std::make_unique<kube::LoopClient>(*impl->loop, impl->cluster->client());
  impl->kinds = std::make_unique<kube::Kinds>(*impl->client);
  return std::unique_ptr<ClusterApi>(new ClusterApi(std::move(impl)));
}

ClusterApi::ClusterApi(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {
}
ClusterApi::~ClusterApi() = default;

kube::BlockingClient& ClusterApi::client() {
  return *impl_->client;
}

kube::Kinds& ClusterApi::kinds() {
  return *impl_->kinds;
}

EpollLoop& ClusterApi::loop() {
  return *impl_->loop;
}

kube::Client& ClusterApi::loop_client() {
  return impl_->cluster->client();
}

}  // namespace kgpu::cli
