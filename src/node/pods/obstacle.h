// When a device that was withdrawn from the kubelet may get another use. A pure function.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "src/node/pods/pod_map.h"
#include "src/node/pods/watch.h"
#include "src/platform/base/clock.h"

namespace kgpu::pods {

// From our answer to the kubelet's Allocate until the kubelet lists the device: a list counts only
// if the kubelet was asked for it this long after the device was withdrawn.
inline constexpr std::chrono::seconds kInFlight{1};

struct PodFacts {
  const PodMap& pods;
  ListState list;
};

// Why a device that was taken from the kubelet at `since` may still be used by a pod, for people;
// empty: no pod holds it.
std::string PodObstacleTo(std::string_view device_uuid, SteadyTime since, const PodFacts& facts);

}  // namespace kgpu::pods
