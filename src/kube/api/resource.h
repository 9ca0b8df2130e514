// Kinds of objects and their API paths.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "src/kube/api/query.h"

namespace kgpu::kube {

struct Resource {
  std::string_view group;  // empty: the core group
  std::string_view version;
  std::string_view plural;

  // "/api/v1/nodes", "/apis/apps/v1/namespaces/ns/daemonsets"; `space` is empty for kinds without
  // namespaces, and for all namespaces together.
  std::string Collection(std::string_view space = "") const;
  // "/api/v1/nodes/n1", "/api/v1/nodes/n1/status".
  std::string Object(std::string_view space, std::string_view name,
                     std::string_view subresource = "") const;
};

inline constexpr Resource kNodes{"", "v1", "nodes"};
inline constexpr Resource kPods{"", "v1", "pods"};
inline constexpr Resource kLeases{"coordination.k8s.io", "v1", "leases"};
inline constexpr Resource kEvents{"events.k8s.io", "v1", "events"};
// Of resource.k8s.io, DRA's group, the newest first: Kubernetes 1.34 and later, 1.33, 1.32.
inline constexpr std::array<std::string_view, 3> kDraVersions = {"v1", "v1beta2", "v1beta1"};

}  // namespace kgpu::kube
