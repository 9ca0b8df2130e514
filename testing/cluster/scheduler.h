// The scheduler: gives pods their nodes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "src/platform/base/event_loop.h"
#include "testing/apiserver/api.h"
#include "testing/cluster/index.h"
#include "testing/cluster/writer.h"

namespace kgpu::simcluster {

// Checks cordons, taints, node selectors, required node affinity and resources; prefers nodes by
// preferred node affinity, then those with the fewest pods, then by name. No preemption, no
// affinity between pods, no ports, no volumes. Loop thread only.
class Scheduler {
 public:
  Scheduler(EventLoop& loop, apiserver::Api& api, const Index& index,
            std::vector<std::string>& problems);

  // Tries all pods without a node: the highest priority first, then the oldest. `index` must
  // not change meanwhile.
  void Sync();

 private:
  // Why a node does not fit, in the real scheduler's words; empty: it does.
  std::vector<std::string> Misfit(const PodInfo& pod, const NodeInfo& node) const;
  const NodeInfo* Choose(const PodInfo& pod, std::map<std::string, int>& misfits) const;
  void Bind(const ObjectKey& key, const PodInfo& pod, const NodeInfo& node);
  void Refuse(const ObjectKey& key, const PodInfo& pod, const std::map<std::string, int>& misfits);
  void WriteEvent(const ObjectKey& key, const PodInfo& pod, const std::string& message);

  EventLoop& loop_;
  const Index& index_;
  Writer writer_;
  // What pods placed in this round use, by node: the index does not know them yet.
  std::map<std::string, Amounts, std::less<>> placed_;
};

}  // namespace kgpu::simcluster
