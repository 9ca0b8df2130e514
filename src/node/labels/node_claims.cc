#include "src/node/labels/node_claims.h"

#include <fmt/format.h>

namespace kgpu::labels {

std::string ToString(const Taint& taint) {
  return taint.value.empty() ? fmt::format("{}:{}", taint.key, taint.effect)
                             : fmt::format("{}={}:{}", taint.key, taint.value, taint.effect);
}

}  // namespace kgpu::labels
