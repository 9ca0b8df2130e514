// The kubelet's request for one resource, with its slots as numbers.
#pragma once

#include <cstddef>
#include <vector>

namespace kgpu::plugin {

struct SlotRequest {
  std::vector<size_t> available;     // ascending, without duplicates
  std::vector<size_t> must_include;  // a subset, ascending
  size_t size = 0;                   // must_include.size() to available.size()
};

}  // namespace kgpu::plugin
