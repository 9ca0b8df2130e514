// The actions on a machine with functions, as the seed decides: deployments, calls, and faults of
// everything that a function needs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/soak/plan.h"
#include "tests/soak/seed.h"

namespace kgpu::soak {

// A function's file, as far as it decides what its replicas get.
struct Shape {
  std::string_view name;
  std::string_view text;  // lines of config.yaml
  size_t gpus = 0;
  int64_t least = 0;  // replicas that always run
  bool is_slice = false;
};
const std::vector<Shape>& Shapes();
const Shape& ShapeOf(std::string_view name);

// The pools of a machine with eight GPUs, all for functions.
struct FunctionLayout {
  std::string_view name;
  std::string_view text;
};
const std::vector<FunctionLayout>& FunctionLayouts();
const FunctionLayout& FunctionLayoutOf(std::string_view name);

class FunctionPlan {
 public:
  // Rounds in which a daemon may end are followed by many in which both live.
  static constexpr size_t kEra = 1000;
  static constexpr size_t kKillsOfEra = 200;

  explicit FunctionPlan(uint32_t seed) : dice_(seed) {}

  Round Next();
  size_t rounds() const { return rounds_; }

 private:
  Action Deploy(const std::string& name);
  Action Workload();
  Action Fault();
  Action DaemonFault();
  Action EngineFault();

  Dice dice_;
  size_t rounds_ = 0;
};

}  // namespace kgpu::soak
