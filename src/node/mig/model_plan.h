// Plans for GPUs of a model that no host here has: the instances are known, their places may not
// be.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "src/node/mig/geometry.h"
#include "src/node/mig/planner.h"
#include "src/node/mig/request.h"
#include "src/platform/base/status.h"

namespace kgpu::mig {

// Every way in which a GPU can have just the instances of `entries`, each with a memory slice at
// that place; the last memory slices first, as the driver fills them. Empty: the GPU cannot have
// them.
std::vector<std::vector<Instance>> WaysToHave(const Geometry& geometry,
                                              const std::vector<Entry>& entries);

struct PlannedGpus {
  std::vector<GpuState> gpus;  // named by their indexes
  Plan plan;
};

// The plan that disturbs least, for `count` GPUs (at least one), the first of which has the
// instances of one of `present` (not empty). Errors: those of PlanDemand.
StatusOr<PlannedGpus> PlanBestOf(const std::shared_ptr<const Geometry>& geometry, size_t count,
                                 const std::vector<std::vector<Instance>>& present,
                                 const std::vector<Demand>& demand);

inline constexpr unsigned kMostModelGpus = 128;

struct ModelRequest {
  std::string model{};     // "H100-80GB"
  unsigned count = 1;      // of GPUs, up to kMostModelGpus
  std::string have{};      // the first GPU's instances, which are in use unless they are marked
  std::string profiles{};  // instances that must be free afterwards
};
struct ModelPlan {
  std::string model;
  PlannedGpus planned;
};

// The plan for GPUs of a model. Errors: InvalidArgument, NotFound (no such model), those of
// PlanDemand.
StatusOr<ModelPlan> PlanModel(const ModelRequest& request);

}  // namespace kgpu::mig
