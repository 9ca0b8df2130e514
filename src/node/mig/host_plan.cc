#include "src/node/mig/host_plan.h"

#include <algorithm>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::mig {
namespace {

StatusOr<std::vector<GpuState>> StatesOf(const std::vector<HostGpu>& gpus, InUse in_use) {
  std::vector<GpuState> states;
  for (const HostGpu& gpu : gpus) {
    ASSIGN_OR_RETURN(GpuState state, StateOf(gpu, in_use));
    states.push_back(std::move(state));
  }
  return states;
}

// The users that each waiting GPU waits for.
void NameUsers(const std::vector<HostGpu>& gpus, Plan& plan) {
  constexpr size_t kNamed = 3;
  for (size_t i = 0; i < plan.waiting.size(); ++i) {
    std::vector<std::string> users;
    for (const User& user : gpus[plan.waiting_gpus[i]].users) {
      if (std::ranges::find(users, user.text) == users.end()) {
        users.push_back(user.text);
      }
    }
    if (users.size() > kNamed) {
      const size_t others = users.size() - kNamed;
      users.resize(kNamed);
      users.push_back(fmt::format("{} more", others));
    }
    plan.waiting[i] += fmt::format(" (used by {})", Join(users, ", "));
  }
}

StatusOr<std::vector<Goal>> GoalsOfHost(const HostRequest& request,
                                        const std::vector<HostGpu>& gpus) {
  if (!request.select.empty()) {
    ASSIGN_OR_RETURN(
        const NamedConfig config,
        SelectConfig(request.configs ? *request.configs : GeneratedConfigs(gpus), request.select));
    return GoalsOf(config, gpus);
  }
  ASSIGN_OR_RETURN(const auto layout, ParseDemands("--layout", request.layout));
  std::vector<Goal> goals;
  for (size_t i = 0; i < gpus.size(); ++i) {
    if (gpus[i].geometry != nullptr) {
      goals.push_back({.gpu = i, .is_mig_enabled = true, .layout = layout});
    }
  }
  return goals;
}

// Only GPUs with a goal have a state: one of an unknown layout must not stop the others.
StatusOr<Plan> PlanLayouts(const HostRequest& request, const std::vector<HostGpu>& gpus) {
  ASSIGN_OR_RETURN(const auto goals, GoalsOfHost(request, gpus));
  std::vector<GpuState> states(gpus.size());
  for (const Goal& goal : goals) {
    ASSIGN_OR_RETURN(states[goal.gpu], StateOf(gpus[goal.gpu], request.in_use));
  }
  ASSIGN_OR_RETURN(Plan plan, PlanGoals(states, goals, request.busy));
  NameUsers(gpus, plan);
  return plan;
}

}  // namespace

StatusOr<std::vector<HostGpu>> KeepNamed(const std::vector<HostGpu>& gpus,
                                         const std::vector<std::string>& names, Lost lost,
                                         std::vector<std::string>& left_out) {
  if (names.empty()) {
    return gpus;
  }
  std::vector<HostGpu> named;
  for (const std::string& name : names) {
    const auto found =
        std::ranges::find_if(gpus, [&](const HostGpu& gpu) { return IsNamed(gpu, name); });
    const bool may_be_left_out =
        lost == Lost::kLeaveOut && names.size() > 1 && device::GpuUuid::Parse(name).ok();
    if (found == gpus.end() && may_be_left_out) {
      left_out.push_back(name);
      continue;
    }
    if (found == gpus.end()) {
      return NotFound("--gpu {}: no such GPU: kgpu devices lists them", Printable(name, 80));
    }
    if (found->geometry == nullptr) {
      return FailedPrecondition("--gpu {}: {} has no MIG", Printable(name, 80), found->name);
    }
    if (std::ranges::find(named, found->uuid, &HostGpu::uuid) == named.end()) {
      named.push_back(*found);
    }
  }
  if (named.empty()) {
    return NotFound("--gpu: none of these GPUs is there: kgpu devices lists them");
  }
  return named;
}

StatusOr<Plan> PlanHost(const HostRequest& request, const std::vector<HostGpu>& gpus) {
  std::vector<HostGpu> capable = gpus;
  std::erase_if(capable, [](const HostGpu& gpu) { return gpu.geometry == nullptr; });
  if (capable.empty()) {
    return FailedPrecondition("no GPU of this host has MIG: kgpu devices lists them");
  }
  if (request.profiles.empty()) {
    return request.layout.empty() == request.select.empty()
               ? InvalidArgument("give one of --profiles, --layout and --select")
               : PlanLayouts(request, gpus);
  }
  if (!request.layout.empty() || !request.select.empty()) {
    return InvalidArgument("give one of --profiles, --layout and --select");
  }
  ASSIGN_OR_RETURN(const auto demand, ParseDemands("--profiles", request.profiles));
  ASSIGN_OR_RETURN(const auto states, StatesOf(capable, request.in_use));
  ASSIGN_OR_RETURN(Plan plan, PlanDemand(states, demand));
  for (GpuChange& change : plan.changes) {
    const auto index = std::ranges::find(gpus, capable[change.gpu].uuid, &HostGpu::uuid);
    change.gpu = static_cast<size_t>(index - gpus.begin());
  }
  return plan;
}

Status CheckUsersKeep(const std::vector<Target>& targets, const std::vector<HostGpu>& gpus) {
  for (const Target& target : targets) {
    const auto gpu = std::ranges::find(gpus, target.uuid, &HostGpu::uuid);
    if (gpu == gpus.end()) {
      continue;
    }
    for (const probe::GpuInstanceReport& report : gpu->instances) {
      const auto instance = InstanceOf(*gpu->geometry, report);
      const auto users = UsersOf(*gpu, report.id);
      const bool stays =
          instance.ok() && std::ranges::any_of(target.layout, [&](const Instance& other) {
            return other.kind == instance->kind && other.start == instance->start;
          });
      if (!stays && !users.empty()) {
        return FailedPrecondition("GPU {}: instance {} is in use by {}: stop it, or use --evict",
                                  gpu->index, report.id, users.front()->text);
      }
    }
  }
  return OkStatus();
}

HelperReply ReplyOf(const Plan& plan, const std::vector<HostGpu>& gpus) {
  if (!plan.is_feasible) {
    return {.outcome = Outcome::kInfeasible, .reason = plan.reason};
  }
  HelperReply reply{.outcome = Outcome::kDone};
  for (const GpuChange& change : plan.changes) {
    reply.changes.push_back(
        {.gpu = gpus[change.gpu].uuid.str(),
         .changes_mode = (change.enables_mig || change.disables_mig) && !change.keeps_mode});
  }
  for (size_t i = 0; i < plan.waiting.size(); ++i) {
    reply.waiting.push_back(
        {.gpu = gpus[plan.waiting_gpus[i]].uuid.str(), .reason = plan.waiting[i]});
  }
  if (!reply.waiting.empty()) {
    reply.outcome = Outcome::kWaits;
    reply.reason = reply.waiting.front().reason;
  }
  return reply;
}

}  // namespace kgpu::mig
