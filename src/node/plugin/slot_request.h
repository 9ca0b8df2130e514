// What the kubelet asks of one resource, in numbers of its slots.
#pragma once

#include <cstddef>
#include <vector>

namespace kgpu::plugin {

struct SlotRequest {
  std::vector<size_t> available;     // ascending, without duplicates
  std::vector<size_t> must_include;  // some of them, ascending
  size_t size = 0;                   // must_include.size() to available.size()
};

}  // namespace kgpu::plugin
