// The API server for `kgpu cluster` commands: one request after another.
#pragma once

#include <memory>
#include <string>

#include "src/kube/api/client.h"
#include "src/kube/objects/blocking_client.h"
#include "src/kube/objects/kinds.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's name
class App;
}

namespace kgpu::cli {

struct ClusterAccess {
  std::string kubeconfig;  // empty: kubectl's
  std::string context;     // empty: the current one
};

// --kubeconfig and --context, as kubectl has them.
void AddClusterAccess(CLI::App& command, ClusterAccess& access);

class ClusterApi {
 public:
  // Opens no connection yet. Errors: NotFound, InvalidArgument (the kubeconfig).
  static StatusOr<std::unique_ptr<ClusterApi>> Open(const ClusterAccess& access);
  ~ClusterApi();
  ClusterApi(const ClusterApi&) = delete;
  ClusterApi& operator=(const ClusterApi&) = delete;

  kube::BlockingClient& client();
  kube::Kinds& kinds();

  // For those who wait for several answers at a time: no call of client() meanwhile.
  EpollLoop& loop();
  kube::Client& loop_client();

 private:
  struct Impl;
  explicit ClusterApi(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kgpu::cli
