#include "src/kube/api/cluster.h"

#include <utility>

#include "src/kube/api/credentials.h"
#include "src/kube/api/http_transport.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::kube {

struct Cluster::Impl {
  Impl(EventLoop& event_loop, Random& jitter) : loop(event_loop), random(jitter) {}

  EventLoop& loop;
  Random& random;
  std::string server;
  FoundConfig config;
  // Each uses those before it.
  std::unique_ptr<Credentials> credentials;
  std::unique_ptr<HttpTransport> transport;
  std::unique_ptr<HttpClient> client;
};

StatusOr<std::unique_ptr<Cluster>> Cluster::Open(EventLoop& loop, Random& random,
                                                 const sys::Root& root, ClusterOptions options) {
  auto impl = std::make_unique<Impl>(loop, random);
  ASSIGN_OR_RETURN(impl->config, FindConfig(root, options.sources));
  const ClusterSpec& cluster = impl->config.selected.cluster;
  HttpTransportOptions transport{.server_name = cluster.tls_server_name,
                                 .max_connections = options.max_connections};
  StatusOr<net::Endpoint> endpoint = net::Endpoint::Parse(cluster.server);
  if (!endpoint.ok()) {
    return Annotate(endpoint.status(), "{}: server", impl->config.source);
  }
  transport.endpoint = *std::move(endpoint);
  impl->server = transport.endpoint.str();
  if (!cluster.proxy_url.empty()) {
    StatusOr<net::Proxy> proxy = net::Proxy::Parse(cluster.proxy_url);
    if (!proxy.ok()) {
      return Annotate(proxy.status(), "{}", impl->config.source);
    }
    transport.proxy = *std::move(proxy);
  }
  impl->credentials = std::make_unique<Credentials>(
      loop, random, root, cluster, impl->config.selected.user, options.sources.environment);
  impl->transport = std::make_unique<HttpTransport>(
      loop, std::move(transport),
      [credentials = impl->credentials.get()] { return credentials->CurrentTrust(); });
  impl->client = std::make_unique<HttpClient>(loop, *impl->transport, *impl->credentials, random,
                                              options.client);
  return std::unique_ptr<Cluster>(new Cluster(std::move(impl)));
}

Cluster::Cluster(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {
}
Cluster::~Cluster() = default;

Client& Cluster::client() {
  return *impl_->client;
}

std::unique_ptr<Client> Cluster::NewClient(const ClientOptions& options) {
  return std::make_unique<HttpClient>(impl_->loop, *impl_->transport, *impl_->credentials,
                                      impl_->random, options);
}

const std::string& Cluster::server() const {
  return impl_->server;
}
const std::string& Cluster::source() const {
  return impl_->config.source;
}
const std::string& Cluster::space() const {
  return impl_->config.selected.space;
}

}  // namespace kgpu::kube
