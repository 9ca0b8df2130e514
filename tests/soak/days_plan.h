// The actions on a node in simulated time, as the seed decides.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "tests/soak/plan.h"
#include "tests/soak/seed.h"

namespace kgpu::soak {

// Configurations of GPUs 0 to 2; the last GPU is divided by MIG in all of them.
const std::vector<Layout>& DayConfigs();

class DayPlan {
 public:
  explicit DayPlan(uint32_t seed) : dice_(seed) {}

  // An empty verb, mostly: no action now.
  Action Next();
  const Layout& layout() const { return DayConfigs()[layout_]; }

 private:
  Action Workload();
  Action Fault();
  std::string NewName(const char* kind);
  std::string Take(std::deque<std::string>& live);

  Dice dice_;
  uint64_t names_ = 0;
  size_t layout_ = 0;
  std::deque<std::string> pods_{};
  std::deque<std::string> loans_{};
};

}  // namespace kgpu::soak
