#include "src/container/inject/index_facts.h"

#include <fmt/format.h>

#include <string>

namespace kgpu::inject {

cuda::HostFacts FactsFor(const InjectionIndex& index,
                         const std::vector<const IndexDevice*>& visible) {
  cuda::HostFacts facts;
  facts.driver_version = index.driver_version;
  facts.cuda_version = index.cuda_version;
  for (const IndexDevice* device : visible) {
    const std::string name = device->names.empty() ? std::string() : device->names.front();
    facts.gpus.push_back({fmt::format("{} {}", device->is_mig ? "MIG device" : "GPU", name),
                          device->compute_capability, device->brand});
  }
  return facts;
}

}  // namespace kgpu::inject
