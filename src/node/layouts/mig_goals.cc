#include "src/node/layouts/mig_goals.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "src/node/config/selector.h"
#include "src/node/pools/claims.h"

namespace kgpu::layouts {
namespace {

// Reasons of GPUs that the driver does not answer for: no layout of theirs can be planned, and the
// others of their goal must not wait for them. XID 79 is the kernel's word for a loss.
constexpr std::array<std::string_view, 5> kNotThere = {"GpuLost", "GpuUnavailable", "Xid79",
                                                       "DriverError", "ResetRequired"};

bool IsThere(const device::Gpu& gpu) {
  return gpu.health.is_healthy ||
         std::ranges::find(kNotThere, gpu.health.reason) == kNotThere.end();
}

bool IsExcluded(const config::NodeConfig& config, const device::Gpu& gpu) {
  return std::ranges::any_of(config.exclude, [&](const config::Selector& selector) {
    return config::Matches(selector, gpu);
  });
}

MigGoal LabelGoal(const MigGoalInput& input) {
  return {.name = fmt::format("{}={}", kMigConfigLabel, input.label),
          .is_label = true,
          .is_new = input.is_label_new,
          .layout = {.named = std::string(input.label),
                     .configs_file = std::string(input.configs_file)}};
}

}  // namespace

std::vector<MigGoal> MigGoalsOf(const MigGoalInput& input) {
  std::map<size_t, MigGoal> by_pool;
  MigGoal label = LabelGoal(input);
  for (const device::Gpu& gpu : input.snapshot.gpus) {
    if (!gpu.mig_mode || !IsThere(gpu) || IsExcluded(input.config, gpu)) {
      continue;
    }
    const std::optional<size_t> pool = pools::PoolOfGpu(input.config, gpu);
    if (!pool) {
      label.gpus.push_back(gpu.uuid.str());
      continue;
    }
    const config::Pool& settings = input.config.pools[*pool];
    if (sharing::MakesDevices(settings.share)) {
      by_pool[*pool].gpus.push_back(gpu.uuid.str());
    } else if (settings.provider != config::Provider::kLocal &&
               settings.mig != config::MigStrategy::kDynamic) {
      label.gpus.push_back(gpu.uuid.str());
    }
  }
  std::vector<MigGoal> goals;
  for (auto& [pool, goal] : by_pool) {
    goal.name = pools::PoolName(input.config, pool);
    goal.layout.instances = sharing::ProfilesText(input.config.pools[pool].share);
    goals.push_back(std::move(goal));
  }
  if (!input.label.empty()) {
    goals.push_back(std::move(label));
  }
  return goals;
}

std::string MigMarksOf(const device::Snapshot& snapshot) {
  std::string marks;
  for (const device::Gpu& gpu : snapshot.gpus) {
    if (gpu.mig_mode) {
      marks += fmt::format("{} {} {}\n", gpu.uuid.str(), gpu.mig_mode->is_enabled,
                           gpu.mig_mode->is_pending_enabled);
    }
    for (const device::MigDevice& mig : gpu.mig_devices) {
      marks += fmt::format("{} {}\n", mig.uuid.str(), mig.profile);
    }
  }
  return marks;
}

bool HasMigManager(const std::map<std::string, std::string>& labels) {
  const auto found = labels.find(kMigManagerLabel);
  return found != labels.end() && found->second == "true";
}

}  // namespace kgpu::layouts
