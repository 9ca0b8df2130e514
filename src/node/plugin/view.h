// What one resource shows the kubelet at one moment: made on the loop, read by gRPC's threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/node/plugin/answer_cache.h"
#include "src/platform/base/status.h"

namespace kgpu::plugin {

// One device of the ListAndWatch list.
struct Advertised {
  std::string id;
  bool is_healthy = true;
  std::optional<unsigned> numa_node;
  bool operator==(const Advertised&) const = default;
};

// Which ids the kubelet should take: of `available`, all of `must_include`, `size` in all.
using Preference = std::function<StatusOr<std::vector<std::string>>(
    const std::vector<std::string>& available, const std::vector<std::string>& must_include,
    size_t size)>;

// Immutable.
struct ResourceView {
  std::string resource;
  std::vector<Advertised> devices;
  Preference preference;  // empty: not offered yet, the kubelet's own choice stands
  // Null while the driver has not answered yet or its files are being looked for: calls wait, or
  // fail at once where `obstacle` says why there are no answers.
  std::shared_ptr<const AnswerCache> answers;
  Status obstacle = OkStatus();
};

using ResourceViewPtr = std::shared_ptr<const ResourceView>;

}  // namespace kgpu::plugin
