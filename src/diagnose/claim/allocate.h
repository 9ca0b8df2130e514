// Gives the devices of a node to a claim as Kubernetes' scheduler does (1.36): the first ones that
// fit. Pure functions; sharing with a pod's other claims is not considered.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/diagnose/claim/claim_spec.h"
#include "src/diagnose/claim/pools.h"
#include "src/platform/base/amount.h"

namespace kgpu::claim {

// A device for a request.
struct Grant {
  const Request* request = nullptr;  // of the claim's spec
  DeviceKey device{};
  bool is_share = false;
  Amounts consumed{};  // of a share
};

// Why a device is refused: the first that applies.
enum class Why : uint8_t {
  kClass,     // a selector of the class does not hold
  kSelector,  // one of the request
  kError,     // a selector fails
  kUnknown,   // kgpu does not know whether it holds
  kPool,      // its slices contradict each other
  kTaint,
  kHeld,
  kCapacity,
  kCounter,
  kConstraint,
};

// Devices that are refused for the same reason.
struct Refused {
  Why why = Why::kSelector;
  std::string text{};
  std::vector<std::string> devices{};
  std::vector<std::string> notes{};   // what they have: attributes, counters, claims
  std::vector<std::string> claims{};  // those that have them: "team-a/one"
};

struct RequestOutcome {
  const Request* request = nullptr;
  size_t of_class = 0;  // devices for which the class's selectors hold
  size_t suitable = 0;  // devices for which all selectors hold
  size_t passing = 0;   // of those, the ones that the claim could have, each by itself
  std::vector<Refused> refused{};
  bool has_enough = false;  // devices pass, without constraints and other requests
  std::string conflict{};   // why the passing ones cannot be allocated together
};

struct Outcome {
  // Empty: the claim gets no devices here.
  std::optional<std::vector<Grant>> grants{};
  // Why the scheduler ends the search on this node; empty: it does not.
  std::string stop{};
  Why stop_why = Why::kError;
  std::vector<std::string> incomplete{};   // pools that have no devices for now, and why
  std::vector<RequestOutcome> requests{};  // without grants: each alternative of each request
};

// `pools` are those of `node`.
Outcome Allocate(const ClaimSpec& spec, const std::vector<Pool>& pools, const Holdings& holdings,
                 const explain::Node& node);

}  // namespace kgpu::claim
