#include "src/diagnose/manifest/kubernetes.h"

#include <optional>
#include <vector>

#include "src/platform/base/strings.h"

namespace kgpu::manifest {

StatusOr<KubernetesVersion> KubernetesVersion::Parse(std::string_view text) {
  std::string_view rest = text;
  rest.remove_prefix(rest.starts_with('v') ? 1 : 0);
  const std::vector<std::string_view> parts = Split(rest, '.');
  const std::optional<uint64_t> major = ParseUint(parts[0]);
  const std::optional<uint64_t> minor = parts.size() > 1 ? ParseUint(parts[1]) : std::nullopt;
  if (!major || !minor || *major > 99 || *minor > 999) {
    return InvalidArgument("\"{}\" must be a Kubernetes version, e.g. 1.29", Printable(text, 40));
  }
  return KubernetesVersion{static_cast<uint32_t>(*major), static_cast<uint32_t>(*minor)};
}

std::string KubernetesVersion::str() const {
  return fmt::format("{}.{}", major, minor);
}

}  // namespace kgpu::manifest
