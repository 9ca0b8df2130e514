// Measurements of the agents of a cluster, through its API server's proxy to pods.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/cluster/gpus/summary.h"
#include "src/kube/api/client.h"

namespace kgpu::top {

// Each asks the API server for a connection: more would be a burden to it.
inline constexpr size_t kMostAgents = 100;
inline constexpr size_t kAgentsAtOnce = 8;

struct AgentsAnswer {
  std::vector<gpus::GpuUse> uses{};
  std::string problem{};  // whose GPUs are missing, and why; empty: none's
};

// One reading. Thread: the loop's. Destroying it cancels it.
class AgentsReader {
 public:
  using Done = std::function<void(AgentsAnswer)>;

  // Asks the first kMostAgents by name, of one node only if `node` is set. Ends at the first agent
  // that the caller may not ask. `done` is called once, never from here, and may destroy the
  // reader. `client` must outlive it.
  AgentsReader(kube::Client& client, const std::string& node, Done done);
  ~AgentsReader();
  AgentsReader(const AgentsReader&) = delete;
  AgentsReader& operator=(const AgentsReader&) = delete;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kgpu::top
