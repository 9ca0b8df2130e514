// When a GPU of a local pool may be lent: not while a pod may still hold it, and not before a
// container can get it.
#pragma once

#include <map>
#include <string>

#include "src/gpu/device/ids.h"
#include "src/node/injection/injector.h"
#include "src/node/pods/obstacle.h"
#include "src/node/pods/pod_map.h"
#include "src/node/pools/assignment.h"
#include "src/platform/base/clock.h"

namespace kgpu::loans {

struct LendFacts {
  const pods::PodMap& pods;
  pods::ListState list;
  const injection::Injection* injection = nullptr;  // null: not decided yet
  std::string plugin_owner{};  // whose plugin serves this kubelet's GPUs; empty: ours
};

class LendRules {
 public:
  // Notes since when GPUs are in local pools: from `now` on, if they were not before. True if there
  // are new ones.
  bool SetLocal(const pools::Assignment& assignment, SteadyTime now);
  // Why the GPU cannot be lent now, for people; empty: it can.
  std::string ObstacleTo(const device::GpuUuid& gpu, const LendFacts& facts) const;

 private:
  std::string PodObstacle(const device::GpuUuid& gpu, const LendFacts& facts) const;

  std::map<device::GpuUuid, SteadyTime> since_;
};

}  // namespace kgpu::loans
