// The controller's series.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "src/cluster/controller/executor.h"
#include "src/cluster/controller/planner.h"

namespace kgpu::controller {

struct Figures {
  bool is_leader = false;
  size_t nodes = 0;
  uint64_t plans = 0;
  std::chrono::nanoseconds last_plan{};
  size_t waiting = 0;
  ExecutorCounts counts{};
  const std::map<std::string, PolicySummary>* policies = nullptr;  // null: not the leader
};

// Prometheus text.
std::string MetricsText(const Figures& figures);

}  // namespace kgpu::controller
