// Finds the layout change that disturbs the fewest instances. Pure, bounded in time and memory: a
// search over the GPUs of a host with a limit on its states (docs/reference/mig.md).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/node/mig/geometry.h"
#include "src/node/mig/request.h"
#include "src/platform/base/status.h"

namespace kgpu::mig {

// A GPU instance with its compute instances, that exists or is to be created.
struct Instance {
  Kind kind{};
  unsigned start = 0;  // first memory slice
  Use use = Use::kIdle;
  unsigned id = 0;  // the driver's, of one that exists
  bool operator==(const Instance&) const = default;
};

// A GPU as the planner sees it.
struct GpuState {
  std::string id{};  // UUID or index, for people
  std::shared_ptr<const Geometry> geometry{};
  std::vector<Instance> instances{};  // none overlap
  bool is_mig_enabled = true;         // without MIG, an idle GPU counts as one without instances
  bool is_mode_pending = false;       // the next reset turns MIG on or off
  bool may_change = true;
};

// What happens to one GPU: MIG is turned on, then instances are destroyed, then created.
struct GpuChange {
  size_t gpu = 0;  // index of its GpuState
  bool enables_mig = false;
  bool disables_mig = false;        // after its instances are destroyed; afterwards MIG is off
  bool keeps_mode = false;          // a pending change of the MIG mode is cancelled
  std::vector<Instance> destroy{};  // by start
  std::vector<Instance> create{};   // by start
  std::vector<Instance> layout{};   // afterwards, by start
};

struct Plan {
  bool is_feasible = false;
  std::string reason{};                // why not, with numbers
  bool is_proven = true;               // no plan disturbs less; or none is possible at all
  std::vector<GpuChange> changes{};    // of GPUs that change, in their order
  unsigned evicted = 0;                // movable instances that are destroyed
  unsigned destroyed = 0;              // all instances that are destroyed
  std::vector<std::string> waiting{};  // GPUs that change once their users are gone, and why
  std::vector<size_t> waiting_gpus{};  // their indexes, in the same order
};

struct PlanLimits {
  size_t states = 4096;    // kept at a time, for each GPU
  size_t steps = 500'000;  // of each search in total: some 10 ms of CPU time
};

// A change after which `demand` instances exist that are idle, or new. Instances in use do not
// count; each movable one that is destroyed adds one of its kind to the demand. Prefers, in this
// order: few evicted, few destroyed, few GPUs whose MIG mode changes, few GPUs that change, room
// for large profiles. Errors: OutOfRange (more than 16 kinds, 127 of a kind, or 128 GPUs),
// InvalidArgument (the current layout of a GPU is not legal).
StatusOr<Plan> PlanDemand(std::span<const GpuState> gpus, const std::vector<Demand>& demand,
                          const PlanLimits& limits = {});

// The same for one GPU that must have exactly these instances afterwards, whoever uses them:
// instances of the right kind stay where they are if the rest fits around them.
StatusOr<Plan> PlanLayout(const GpuState& gpu, const std::vector<Demand>& layout);

}  // namespace kgpu::mig
