// The Deployment controller: a number of equal pods.
#pragma once

#include <string>
#include <vector>

#include "testing/apiserver/api.h"
#include "testing/cluster/index.h"
#include "testing/cluster/writer.h"

namespace kgpu::simcluster {

// Owns pods directly: there are no ReplicaSets. Loop thread only.
class Deployments {
 public:
  Deployments(EventLoop& loop, apiserver::Api& api, const Index& index,
              std::vector<std::string>& problems);

  void Sync(const ObjectKey& key);

 private:
  struct Pods {
    std::vector<const PodInfo*> current{};  // of this template, not deleted
    std::vector<const PodInfo*> old{};
    std::vector<const PodInfo*> over{};  // to be removed
    int64_t ready = 0;
    int64_t current_ready = 0;
    int64_t Total() const { return static_cast<int64_t>(current.size() + old.size()); }
  };

  Pods PodsOf(std::string_view uid, const std::string& hash) const;
  void Scale(const boost::json::object& deployment, const std::string& hash, int64_t replicas,
             Pods& pods);
  void WriteStatus(const ObjectKey& key, const boost::json::object& deployment, int64_t replicas,
                   const Pods& pods);

  EventLoop& loop_;
  const apiserver::Api& api_;
  const Index& index_;
  Writer writer_;
};

}  // namespace kgpu::simcluster
