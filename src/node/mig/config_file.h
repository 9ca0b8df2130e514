// Named MIG configurations: files of NVIDIA's MIG partition editor (mig-parted), and those that
// every host has. Strict; errors name file and field.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/node/mig/host.h"
#include "src/node/mig/planner.h"
#include "src/node/mig/request.h"
#include "src/platform/base/status.h"

namespace kgpu::mig {

// What some GPUs are to have.
struct ConfigEntry {
  // Device id in the upper half, vendor id in the lower, as in 0x233010DE; empty: any model.
  std::vector<uint32_t> models{};
  std::optional<std::vector<unsigned>> devices{};  // indexes; nullopt: all
  bool is_mig_enabled = false;
  std::vector<Demand> layout{};
  bool operator==(const ConfigEntry&) const = default;
};

struct NamedConfig {
  std::string name;
  std::vector<ConfigEntry> entries;
  // Why the file's configuration of this name cannot be used; empty: it can.
  std::string problem{};
};

inline constexpr size_t kMaxConfigBytes = size_t{1} << 20;

// Reads `version: v1` with `mig-configs`. YAML or JSON, by the suffix of `file`. A configuration
// that is wrong costs no other: its `problem` says why, with the line. Errors: InvalidArgument, for
// the file as a whole. Source: the README of mig-parted.
StatusOr<std::vector<NamedConfig>> ParseConfigs(std::string_view text, std::string_view file);

// all-disabled, all-enabled, all-PROFILE ("+" becomes "."), all-balanced, for the models of `gpus`.
std::vector<NamedConfig> GeneratedConfigs(std::span<const HostGpu> gpus);

// Errors: NotFound with similar names, or all of them; InvalidArgument, its `problem`.
StatusOr<NamedConfig> SelectConfig(const std::vector<NamedConfig>& configs, std::string_view name);

// What one GPU is to have.
struct Goal {
  size_t gpu = 0;
  bool is_mig_enabled = true;
  std::vector<Demand> layout{};
};

// Of GPUs that an entry is about; the last entry counts. GPUs without MIG are left out, unless an
// entry names their index. An index that no GPU has means nothing, as for mig-parted: one file
// serves nodes with four and with eight GPUs. Errors: FailedPrecondition (a named GPU has no MIG).
StatusOr<std::vector<Goal>> GoalsOf(const NamedConfig& config, std::span<const HostGpu> gpus);

// The indexes that entries name and no GPU has, in order.
std::vector<unsigned> IndexesWithoutGpu(const NamedConfig& config, std::span<const HostGpu> gpus);

// What a GPU in use means for the others.
enum class Busy {
  kRefuse,  // none changes
  kWait,    // the others change, it is in Plan::waiting
};

// The changes of all goals together; infeasible if one is, apart from Busy::kWait. Errors: those of
// PlanLayout.
StatusOr<Plan> PlanGoals(std::span<const GpuState> gpus, const std::vector<Goal>& goals,
                         Busy busy = Busy::kRefuse);

}  // namespace kgpu::mig
