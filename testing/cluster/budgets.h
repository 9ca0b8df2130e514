// The disruption controller: how many pods of each PodDisruptionBudget may be evicted now.
#pragma once

#include <string>
#include <vector>

#include "testing/apiserver/api.h"
#include "testing/cluster/index.h"
#include "testing/cluster/writer.h"

namespace kgpu::simcluster {

// Percentages are of the pods that there are, not of what their controllers want. Loop thread only.
class Budgets {
 public:
  Budgets(apiserver::Api& api, const Index& index, std::vector<std::string>& problems);

  void Sync(const ObjectKey& key);

 private:
  const apiserver::Api& api_;
  const Index& index_;
  Writer writer_;
};

}  // namespace kgpu::simcluster
