// Versions of Kubernetes.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "src/platform/base/status.h"

namespace kgpu::manifest {

struct KubernetesVersion {
  uint32_t major = 1;
  uint32_t minor = 0;

  // "1.29", "v1.29.3". Errors: InvalidArgument.
  static StatusOr<KubernetesVersion> Parse(std::string_view text);
  std::string str() const;
  auto operator<=>(const KubernetesVersion&) const = default;
};

// The version that manifests are checked against by default.
inline constexpr KubernetesVersion kNewestKubernetes{1, 37};

}  // namespace kgpu::manifest
