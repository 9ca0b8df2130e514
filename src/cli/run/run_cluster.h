// What `kgpu run` needs of a cluster, this host and the modules that explain and check.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "src/cli/base/node_api.h"
#include "src/cluster/run/start.h"
#include "src/kube/api/client.h"
#include "src/kube/objects/blocking_client.h"
#include "src/platform/base/status.h"

namespace kgpu::cli {

// Blocking; one request at a time.
class RunCluster {
 public:
  // Errors: as NodeApi::Open.
  static StatusOr<std::unique_ptr<RunCluster>> Open(const NodeOptions& options);
  ~RunCluster();
  RunCluster(const RunCluster&) = delete;
  RunCluster& operator=(const RunCluster&) = delete;

  kube::BlockingClient& client();
  // `given`, or the namespace of the context.
  std::string SpaceOr(const std::string& given) const;
  // Passes on a text as it comes, until it ends. Errors: those of Client::Stream.
  Status ReadText(kube::ApiRequest request, const std::function<void(std::string_view)>& take);
  // `note` gets lines for people.
  run::StartDeps Deps(std::function<void(std::string_view)> note);

 private:
  struct Impl;
  explicit RunCluster(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kgpu::cli
