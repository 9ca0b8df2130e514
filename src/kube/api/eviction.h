// Evicts pods, as far as their disruption budgets allow.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "src/kube/api/client.h"
#include "src/platform/base/status.h"

namespace kgpu::kube {

struct EvictionTarget {
  std::string space{};
  std::string name{};
  std::string uid{};  // of the pod seen: another one of that name stays
  std::optional<std::chrono::seconds> grace{};
  bool is_dry_run = false;
};

enum class EvictionResult : uint8_t {
  kAccepted,   // it terminates; gone when its name is not found or has another uid
  kGone,       // it, or its namespace, is gone or terminating
  kOtherPod,   // the name now belongs to another pod
  kForbidden,  // a budget does not allow it now: ask again in kEvictionPause
};

// A budget does not say when it will allow an eviction.
inline constexpr std::chrono::seconds kEvictionPause{5};

using EvictionDone = std::function<void(StatusOr<EvictionResult>)>;

// Errors: as Client::Send; also Unavailable if several budgets match the pod (500), which only a
// human can fix.
std::unique_ptr<Call> Evict(Client& client, const EvictionTarget& target, EvictionDone done);

}  // namespace kgpu::kube
