// Plans for the GPUs of this host, from the lists and names that people and programs request.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/node/mig/apply.h"
#include "src/node/mig/config_file.h"
#include "src/node/mig/helper.h"
#include "src/node/mig/host.h"
#include "src/node/mig/planner.h"
#include "src/platform/base/status.h"

namespace kgpu::mig {

// How to treat a named GPU that the driver does not list.
enum class Lost { kRefuse, kLeaveOut };

// The GPUs that `names` lists, by index or UUID, in that order; all of them without names. Each
// that is left out adds its name to `left_out`: with Lost::kLeaveOut, a whole UUID beside others.
// Errors: NotFound, FailedPrecondition (the GPU has no MIG).
StatusOr<std::vector<HostGpu>> KeepNamed(const std::vector<HostGpu>& gpus,
                                         const std::vector<std::string>& names, Lost lost,
                                         std::vector<std::string>& left_out);

// Exactly one of `profiles`, `layout` and `select` is set; each field has the name of its flag.
struct HostRequest {
  std::string profiles{};  // instances that must be free afterwards: "2x1g.10gb"
  std::string layout{};    // exactly the instances of each GPU; "none" for an empty one
  std::string select{};    // the name of a configuration
  // Where `select` is looked up; nullopt: among the configurations that every host has.
  std::optional<std::vector<NamedConfig>> configs{};
  InUse in_use = InUse::kStays;
  Busy busy = Busy::kRefuse;  // of `layout` and `select`
};

// The change that is requested; its indexes are those of `gpus`. Errors: InvalidArgument,
// FailedPrecondition (no GPU has MIG), NotFound (no such configuration), those of the planner.
StatusOr<Plan> PlanHost(const HostRequest& request, const std::vector<HostGpu>& gpus);

// OK if the targets have every instance that is in use at its place. Errors: FailedPrecondition
// naming a user.
Status CheckUsersKeep(const std::vector<Target>& targets, const std::vector<HostGpu>& gpus);

// The reply to a request for a plan, of one made of `gpus`.
HelperReply ReplyOf(const Plan& plan, const std::vector<HostGpu>& gpus);

}  // namespace kgpu::mig
