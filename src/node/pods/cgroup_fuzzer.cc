// /proc/<pid>/cgroup, whose names are anybody's who may make cgroups.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "src/node/pods/cgroup.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const kgpu::pods::CgroupPlace& place : kgpu::pods::PlacesOf(text)) {
    const bool is_empty = place.pod_uid.empty() && place.container_id.empty();
    const bool is_path = place.pod_uid.find('/') != std::string::npos ||
                         place.container_id.find('/') != std::string::npos;
    if (is_empty || is_path || place.pod_uid.size() > size || place.container_id.size() > size) {
      __builtin_trap();
    }
  }
  return 0;
}
