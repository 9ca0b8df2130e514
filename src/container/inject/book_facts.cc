#include "src/container/inject/book_facts.h"

#include <fmt/format.h>

#include <string>

namespace kgpu::inject {

cuda::HostFacts FactsFor(const Book& book, const std::vector<const BookDevice*>& visible) {
  cuda::HostFacts facts;
  facts.driver_version = book.driver_version;
  facts.cuda_version = book.cuda_version;
  for (const BookDevice* device : visible) {
    const std::string name = device->names.empty() ? std::string() : device->names.front();
    facts.gpus.push_back({fmt::format("{} {}", device->is_mig ? "MIG device" : "GPU", name),
                          device->compute_capability, device->brand});
  }
  return facts;
}

}  // namespace kgpu::inject
