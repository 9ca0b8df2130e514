// Chooses one container's devices of one resource: the kubelet's rules as a value, without the call
// to the plugin in the middle.
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

// The nodes of `device` that fit into a mask; ignores others, as the kubelet does.
NodeMask MaskOf(const Device& device);

struct PickRequest {
  std::string resource;
  int64_t required = 0;
  DeviceIds healthy;
  DeviceIds in_use;    // by any container
  DeviceIds reusable;  // held by init containers of the same pod that no longer need them
  std::map<std::string, Device> devices;  // every device of the resource, with its nodes
  std::optional<NodeMask> affinity;       // of the topology manager, if it has a preference
};

// Begin, then (unless it is complete already) call the plugin and Finish.
class Picker {
 public:
  // `random` orders what the kubelet leaves to chance. Errors: Internal (too few are free).
  static StatusOr<Picker> Begin(PickRequest request, std::mt19937& random);

  bool is_complete() const { return Needed() == 0; }
  const DeviceIds& chosen() const { return chosen_; }
  // The request for GetPreferredAllocation.
  PreferredRequest Question() const;
  // Takes the candidates that the plugin prefers, as a set, then any others. An empty answer means
  // a plugin without preferences. Errors: Internal (still too few).
  Status Finish(const std::vector<std::string>& preferred, std::mt19937& random);

 private:
  size_t Needed() const { return static_cast<size_t>(request_.required) - chosen_.size(); }
  void Take(const DeviceIds& from, std::mt19937& random);

  PickRequest request_;
  DeviceIds chosen_;
  DeviceIds candidates_;              // the plugin may choose among these
  std::vector<DeviceIds> fallbacks_;  // taken in this order if it does not
};

}  // namespace kgpu::kubelet
