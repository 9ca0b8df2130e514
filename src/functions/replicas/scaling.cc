#include "src/functions/replicas/scaling.h"

#include <algorithm>

namespace kgpu::functions {

int64_t NeededReplicas(const Scaling& scaling, int64_t concurrency, int64_t calls) {
  const int64_t places = std::max<int64_t>(concurrency, 1);
  return std::clamp((calls + places - 1) / places, scaling.min_replicas,
                    std::max(scaling.min_replicas, scaling.max_replicas));
}

Status SetMinimum(Function& function, std::string_view key, int64_t replicas) {
  const int64_t most = function.scaling.max_replicas;
  if (replicas < 0 || replicas > most) {
    return InvalidArgument(
        "function {}: replicas: {} must be at most its maximum, {}: deploy it with a higher one",
        key, replicas, most);
  }
  function.scaling.min_replicas = replicas;
  return OkStatus();
}

}  // namespace kgpu::functions
