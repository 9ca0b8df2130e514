#include "testing/kubelet/picker.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "src/platform/base/status_macros.h"

namespace kgpu::kubelet {
namespace {

DeviceIds Minus(const DeviceIds& left, const DeviceIds& right) {
  DeviceIds result;
  std::ranges::set_difference(left, right, std::inserter(result, result.end()));
  return result;
}

DeviceIds Union(DeviceIds left, const DeviceIds& right) {
  left.insert(right.begin(), right.end());
  return left;
}

// Free devices as the topology manager's affinity sorts them.
struct ByAffinity {
  DeviceIds aligned;
  DeviceIds unaligned;
  DeviceIds without_node;
};

ByAffinity Sort(const PickRequest& request, const DeviceIds& available) {
  const bool has_nodes = std::ranges::any_of(
      request.devices, [](const auto& entry) { return !entry.second.numa_nodes.empty(); });
  ByAffinity sorted;
  if (!has_nodes || !request.affinity) {
    sorted.without_node = available;
    return sorted;
  }
  for (const std::string& id : available) {
    const auto device = request.devices.find(id);
    if (device == request.devices.end() || device->second.numa_nodes.empty()) {
      sorted.without_node.insert(id);
    } else if ((MaskOf(device->second) & *request.affinity) != 0) {
      sorted.aligned.insert(id);
    } else {
      sorted.unaligned.insert(id);
    }
  }
  return sorted;
}

}  // namespace

NodeMask MaskOf(const Device& device) {
  constexpr int64_t kNodes = 64;
  NodeMask mask = 0;
  for (const int64_t node : device.numa_nodes) {
    if (node >= 0 && node < kNodes) {
      mask |= NodeMask{1} << node;
    }
  }
  return mask;
}

StatusOr<Picker> Picker::Begin(PickRequest request, std::mt19937& random) {
  Picker picker;
  picker.request_ = std::move(request);
  const PickRequest& wanted = picker.request_;
  picker.Take(wanted.reusable, random);
  if (picker.is_complete()) {
    return picker;
  }
  const DeviceIds available = Minus(wanted.healthy, Union(wanted.in_use, picker.chosen_));
  const size_t needed = picker.Needed();
  if (available.size() < needed) {
    return Internal("{} more devices of {} needed, {} free", needed, wanted.resource,
                    available.size());
  }
  ByAffinity sorted = Sort(wanted, available);
  if (needed < sorted.aligned.size()) {
    picker.candidates_ = sorted.aligned;
    picker.fallbacks_ = {std::move(sorted.aligned)};
    return picker;
  }
  // Every aligned device is needed: only the rest is left to the plugin.
  picker.Take(sorted.aligned, random);
  picker.candidates_ = available;
  picker.fallbacks_ = {std::move(sorted.unaligned), std::move(sorted.without_node)};
  return picker;
}

PreferredRequest Picker::Question() const {
  const DeviceIds available = Union(candidates_, chosen_);
  return {.available = {available.begin(), available.end()},
          .must_include = {chosen_.begin(), chosen_.end()},
          .size = static_cast<int32_t>(request_.required)};
}

Status Picker::Finish(const std::vector<std::string>& preferred, std::mt19937& random) {
  DeviceIds wanted;
  std::ranges::copy_if(preferred, std::inserter(wanted, wanted.end()),
                       [this](const std::string& id) { return candidates_.contains(id); });
  Take(wanted, random);
  for (const DeviceIds& fallback : fallbacks_) {
    Take(fallback, random);
  }
  if (!is_complete()) {
    return Internal("{} devices of {} selected, {} needed", chosen_.size(), request_.resource,
                    request_.required);
  }
  return OkStatus();
}

void Picker::Take(const DeviceIds& from, std::mt19937& random) {
  const DeviceIds free = Minus(from, chosen_);
  std::vector<std::string> order(free.begin(), free.end());
  std::ranges::shuffle(order, random);
  order.resize(std::min(order.size(), Needed()));
  chosen_.insert(order.begin(), order.end());
}

}  // namespace kgpu::kubelet
