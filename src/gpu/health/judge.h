// What a sign means on this node: the rule table, modified by the admin's settings.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "src/gpu/health/rule_table.h"
#include "src/gpu/health/settings.h"

namespace kgpu::health {

// `rule` with the settings applied: its own entry, or else "Xid*", or else "*".
Rule Judge(const Settings& settings, Rule rule);

// Whether the settings keep devices in use despite this rule, by its name or a wildcard.
bool IsWaived(const Settings& settings, const Rule& rule);

}  // namespace kgpu::health
