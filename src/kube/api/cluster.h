// A cluster that we can talk to: everything between a kubeconfig and a Client.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/kube/api/client.h"
#include "src/kube/api/find_config.h"
#include "src/kube/api/http_client.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/random.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::kube {

struct ClusterOptions {
  ConfigSources sources{};
  ClientOptions client{};
  size_t max_connections = 16;
};

// Lives on the loop's thread.
class Cluster {
 public:
  // Reads the configuration but opens no connection: the first request does. `root` is our own file
  // system, not the host's. All references must outlive the cluster. Errors: as FindConfig;
  // InvalidArgument (the server's or the proxy's address).
  static StatusOr<std::unique_ptr<Cluster>> Open(EventLoop& loop, Random& random,
                                                 const sys::Root& root, ClusterOptions options);
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  Client& client();
  // Another client with its own rate limit over the same connections: for events, which must not
  // delay what matters, and for leases. The cluster must outlive it.
  std::unique_ptr<Client> NewClient(const ClientOptions& options);

  // For people: "https://10.0.0.1:6443", and where it was configured.
  const std::string& server() const;
  const std::string& source() const;
  // The namespace of the context, or of our pod.
  const std::string& space() const;

 private:
  struct Impl;
  explicit Cluster(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kgpu::kube
