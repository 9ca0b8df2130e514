// The DaemonSet controller: one pod on each node that matches.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "testing/apiserver/api.h"
#include "testing/cluster/index.h"
#include "testing/cluster/writer.h"

namespace kgpu::simcluster {

// Replaces outdated pods by RollingUpdate with maxUnavailable (maxSurge is not supported) or
// OnDelete. Writes no ControllerRevisions. Loop thread only.
class DaemonSets {
 public:
  DaemonSets(apiserver::Api& api, const Index& index, std::vector<std::string>& problems);

  void Sync(const ObjectKey& key);

 private:
  // A pod of the set on each of its nodes, as far as it counts.
  struct Pods {
    std::map<std::string, std::vector<const PodInfo*>> on{};  // node → pods that are not over
    std::vector<const PodInfo*> failed{};                     // to be replaced
  };

  Pods PodsOf(std::string_view uid) const;
  // Which nodes should have a pod; nodes that have not changed are not judged again.
  const std::set<std::string>& NodesFor(const ObjectKey& key, const boost::json::object& set);
  void Place(const boost::json::object& set, const std::string& hash,
             const std::set<std::string>& nodes, const Pods& pods);
  void Roll(const boost::json::object& set, const std::string& hash,
            const std::set<std::string>& nodes, const Pods& pods);
  void WriteStatus(const ObjectKey& key, const boost::json::object& set, const std::string& hash,
                   const std::set<std::string>& nodes, const Pods& pods);
  void DeletePod(const PodInfo& pod);

  struct Judged {
    std::string uid{};
    int64_t generation = 0;
    std::map<std::string, uint64_t> revisions{};  // of each node's rules when it was judged
    std::set<std::string> nodes{};                // that should have a pod
  };

  const apiserver::Api& api_;
  const Index& index_;
  Writer writer_;
  std::map<ObjectKey, Judged> judged_;
};

// An int or a percentage of `total`, rounded up: maxUnavailable and the like.
int64_t ScaledValue(const boost::json::value* value, int64_t total, int64_t otherwise,
                    bool rounds_up);

}  // namespace kgpu::simcluster
