#include "src/node/slices/slice_events.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace kgpu::slices {
namespace {

std::string_view NextAfter(sharing::OnExcess on_excess) {
  switch (on_excess) {
    case sharing::OnExcess::kEvent:
      return "request a larger slice";
    case sharing::OnExcess::kEvict:
      return "the pod is evicted if this goes on";
    case sharing::OnExcess::kKill:
      return "its processes on the GPU are killed if this goes on";
  }
  return "";
}

kube::Event EventOf(const slices::SliceUse& use, std::string_view reason, std::string_view action,
                    std::string_view follows) {
  return {.is_warning = true,
          .reason = std::string(reason),
          .action = std::string(action),
          .note = fmt::format(
              "container {} uses {} of {}, but its slices allow {}: the limit inside the container "
              "was avoided or is not loaded; {}",
              use.user.container, FormatBytes(use.used), use.device_uuid, FormatBytes(use.limit),
              follows),
          .regarding = {.api_version = "v1",
                        .kind = "Pod",
                        .space = use.user.pod_namespace,
                        .name = use.user.pod,
                        .uid = use.user.pod_uid},
          .subject = fmt::format("{} {}", use.user.container, use.device_uuid)};
}

}  // namespace

kube::Event ExcessEvent(const slices::Excess& excess) {
  return EventOf(excess.use, "GPUMemoryExceeded", "Measuring", NextAfter(excess.use.on_excess));
}

kube::Event KilledEvent(const slices::SliceUse& use, unsigned processes) {
  return EventOf(use, "GPUMemoryKilled", "Killing",
                 fmt::format("{} of its processes on the GPU were killed", processes));
}

kube::Event EvictedEvent(const slices::SliceUse& use) {
  return EventOf(use, "GPUMemoryEvicted", "Evicting", "the pod was evicted");
}

}  // namespace kgpu::slices
