// A kubeconfig that can be read can be merged with itself and selected from, and every valid
// address in it reads the same as it prints.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "src/kube/api/kubeconfig.h"
#include "src/platform/net/dial/dialer.h"
#include "src/platform/net/dial/endpoint.h"

namespace {

void Check(bool holds) {
  if (!holds) {
    std::abort();
  }
}

void CheckAddress(std::string_view server) {
  const auto endpoint = kgpu::net::Endpoint::Parse(server);
  if (endpoint.ok()) {
    const auto again = kgpu::net::Endpoint::Parse(endpoint->str());
    Check(again.ok() && *again == *endpoint);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto config = kgpu::kube::ParseKubeconfig(text, "config", "/etc/kube");
  if (!config.ok()) {
    return 0;
  }
  for (const auto& [name, cluster] : config->clusters) {
    CheckAddress(cluster.server);
    (void)kgpu::net::Proxy::Parse(cluster.proxy_url);
    Check(cluster.ca_file.empty() || cluster.ca_file.starts_with('/'));
  }
  const size_t contexts = config->contexts.size();
  for (const auto& [name, context] : config->contexts) {
    const auto selected = kgpu::kube::SelectContext(*config, name);
    Check(!selected.ok() || !selected->cluster.is_insecure);
  }
  kgpu::kube::MergeKubeconfig(*config, *config);
  Check(config->contexts.size() == contexts);
  return 0;
}
