// What one resource shows the kubelet at one moment: built on the loop, read by gRPC's threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
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

// Which ids the kubelet should take: `size` of `available`, including all of `must_include`.
using Preference = std::function<StatusOr<std::vector<std::string>>(
    const std::vector<std::string>& available, const std::vector<std::string>& must_include,
    size_t size)>;

// Immutable.
struct ResourceView {
  std::string resource;
  std::vector<Advertised> devices;
  Preference preference;  // empty: not offered yet, the kubelet chooses by itself
  // Null while the driver has not answered yet or its files are being searched: calls wait, or fail
  // immediately if `obstacle` says why there are no answers.
  std::shared_ptr<const AnswerCache> answers;
  // Makes the slots ready for their next container, before it is answered. Called on gRPC's
  // threads, and on the loop for calls that have waited; may wait for a disk. Empty: nothing is to
  // be done.
  std::function<Status(std::span<const std::string> ids)> prepare{};
  Status obstacle = OkStatus();
};

using ResourceViewPtr = std::shared_ptr<const ResourceView>;

}  // namespace kgpu::plugin
