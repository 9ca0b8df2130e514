// One archive of a cluster for support: what its API server has of kgpu, and what the agents say.
#pragma once

#include <boost/json/fwd.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "src/diagnose/collect/collect.h"
#include "src/kube/api/client.h"
#include "src/platform/base/status.h"

namespace kgpu::collect {

struct ClusterDeps {
  std::function<StatusOr<boost::json::value>(kube::ApiRequest request)> ask{};
  std::function<StatusOr<std::string>(const kube::ApiRequest& request, size_t limit)> read_text{};
  std::string space = "kgpu";                          // where kgpu is installed
  std::function<void(std::string_view name)> begin{};  // of each entry, for people
};

// Pods of kgpu whose logs and documents are read.
inline constexpr size_t kMostPods = 200;

// Never fails: what cannot be read is a problem. Secrets are not read, and removed from the rest.
Bundle CollectCluster(const ClusterDeps& deps);

}  // namespace kgpu::collect
