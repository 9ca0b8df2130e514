// What the controller remembers about a node, in an annotation of the node, so that any leader can
// continue: the upgrade of its driver, and its quarantine. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/cluster/policy/gpu_policy.h"
#include "src/platform/base/clock.h"
#include "src/platform/base/status.h"

namespace kgpu::fleet {

// In this order; a failed node stays cordoned.
enum class UpgradeState : uint8_t { kWait, kEvict, kInstall, kValidate, kFailed };

std::string_view NameOf(UpgradeState state);

struct UpgradeRecord {
  UpgradeState state = UpgradeState::kWait;
  WallTime since{};    // of the state and attempt, whole seconds
  std::string from{};  // driver version before; empty: none
  std::string to{};    // version or branch
  policy::DriverSource source = policy::DriverSource::kPackage;
  std::string policy{};
  std::string group{};
  uint32_t attempt = 1;
  bool is_single = false;    // its pod validates one GPU, since it may not have more
  bool is_cordoned = false;  // by us: otherwise the node stays unschedulable at the end
  // The pod acted with: the name of ours, or the uid of the driver's pod that is replaced.
  std::string pod{};
  UpgradeState failed_in = UpgradeState::kWait;  // of a failed one
  std::string reason{};                          // of a failed one: "InstallFailed"
  std::string message{};
  bool operator==(const UpgradeRecord&) const = default;
};

std::string PrintRecord(const UpgradeRecord& record);
// Ignores fields of newer versions. Errors: InvalidArgument.
StatusOr<UpgradeRecord> ParseUpgradeRecord(std::string_view text);

struct FenceRecord {
  bool is_validating = false;
  WallTime since{};  // of the state, whole seconds
  std::string reason{};
  std::string message{};
  std::string policy{};
  std::string group{};
  uint32_t attempt = 0;    // validations that failed
  bool is_single = false;  // its pod validates one GPU, since it may not have more
  bool operator==(const FenceRecord&) const = default;
};

std::string PrintRecord(const FenceRecord& record);
// The same. Errors: InvalidArgument.
StatusOr<FenceRecord> ParseFenceRecord(std::string_view text);

// "kgpu-install-0123456789abcdef": the same for the same arguments, so that two leaders create one
// pod.
std::string PodName(std::string_view role, std::string_view node_uid, WallTime since,
                    uint32_t attempt);

}  // namespace kgpu::fleet
