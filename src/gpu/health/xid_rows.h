// The rows for XIDs, in a file of their own because there are many.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "src/gpu/health/rule.h"

namespace kgpu::health {

struct XidRow {
  uint16_t first = 0;
  uint16_t last = 0;  // the codes in between mean the same
  FaultClass fault_class = FaultClass::kOther;
  Action action = Action::kIgnore;
  bool is_unhealthy = false;
  std::string_view text{};
};

// Sorted, without overlap. Sources: NVIDIA's XID catalogue (drivers r555 to r590) and, for codes
// that drivers no longer send, its older list of XIDs.
std::span<const XidRow> XidRows();

}  // namespace kgpu::health
