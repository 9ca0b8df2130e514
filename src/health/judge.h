// What a sign means on this node: the rule table as the admin's settings change it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "src/health/rule_table.h"
#include "src/health/settings.h"

namespace kgpu::health {

// `rule` with the settings applied: its own entry, or "Xid*", or "*".
Rule Judge(const Settings& settings, Rule rule);

}  // namespace kgpu::health
