// How much of a device's capacities a request takes. Pure functions.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "src/diagnose/claim/pools.h"
#include "src/platform/base/amount.h"

namespace kgpu::claim {

// The part of `capacity` that a request takes, rounded up as the capacity's policy says. `asked` is
// empty if the request does not name the capacity. Empty: the policy does not allow that much.
std::optional<Amount> ConsumptionOf(const Capacity& capacity, std::optional<Amount> asked);

// Of each of the device's capacities, or why it cannot be had beside `consumed`, which others take:
// "memory: 20Gi of 80Gi left, 40Gi requested".
struct Consumption {
  Amounts amounts{};
  std::string problem{};  // empty: none
};
Consumption Consume(const Device& device, const Amounts& asked, const Amounts& consumed);

}  // namespace kgpu::claim
