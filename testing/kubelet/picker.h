// Which devices one container gets of one resource: the kubelet's rules as a value, without the
// question to the plugin in their middle.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "src/platform/base/status.h"
#include "testing/kubelet/plugin_api.h"

namespace kgpu::kubelet {

// A set of NUMA nodes 0…63, one bit each.
using NodeMask = uint64_t;

// The nodes of `device` that a mask can hold; others are ignored, as the kubelet does.
NodeMask MaskOf(const Device& device);

struct PickRequest {
  std::string resource;
  int64_t required = 0;
  DeviceIds healthy;
  DeviceIds in_use;    // by any container
  DeviceIds reusable;  // held by init containers of the same pod that have no more need of them
  std::map<std::string, Device> devices;  // every device of the resource, for its nodes
  std::optional<NodeMask> affinity;       // of the topology manager, when it has an opinion
};

// Begin, then (unless it is complete already) ask the plugin and Finish.
class Picker {
 public:
  // `random` orders what the kubelet leaves to chance. Errors: Internal (too few are free).
  static StatusOr<Picker> Begin(PickRequest request, std::mt19937& random);

  bool is_complete() const { return Needed() == 0; }
  const DeviceIds& chosen() const { return chosen_; }
  // What GetPreferredAllocation is asked.
  PreferredRequest Question() const;
  // Takes what the plugin prefers of the candidates, as a set, then whatever is left. An empty
  // answer is that of a plugin without preferences. Errors: Internal (still too few).
  Status Finish(const std::vector<std::string>& preferred, std::mt19937& random);

 private:
  size_t Needed() const { return static_cast<size_t>(request_.required) - chosen_.size(); }
  void Take(const DeviceIds& from, std::mt19937& random);

  PickRequest request_;
  DeviceIds chosen_;
  DeviceIds candidates_;              // the plugin may choose among these
  std::vector<DeviceIds> fallbacks_;  // taken in this order when it does not
};

}  // namespace kgpu::kubelet
