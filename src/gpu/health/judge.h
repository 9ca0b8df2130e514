// What a sign means on this node: the rule table as the admin's settings change it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "src/gpu/health/rule_table.h"
#include "src/gpu/health/settings.h"

namespace kgpu::health {

// `rule` with the settings applied: its own entry, or "Xid*", or "*".
Rule Judge(const Settings& settings, Rule rule);

// Whether the settings say of the rule, or of all like it, that it leaves devices in use.
bool IsWaived(const Settings& settings, const Rule& rule);

}  // namespace kgpu::health
