// What every sign means by default: one row per rule, as data.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/gpu/health/rule.h"

namespace kgpu::health {

struct Rule {
  std::optional<uint64_t> xid{};  // of an XID's rule, which is named "Xid<xid>"
  std::string_view name{};        // of any other rule
  FaultClass fault_class = FaultClass::kOther;
  Action action = Action::kIgnore;
  bool is_unhealthy = false;  // devices are not allocated while it lasts
  // What happened and how to fix it: "…: …", without a capital and a full stop.
  std::string_view text{};
  // Lasts as long as measurements show it; otherwise it is a single event, and hold-down applies.
  bool is_standing = false;
  // The device does not answer, or cannot be used at all: only an entry of its own overrides this,
  // not "*".
  bool is_certain = false;
  std::optional<std::chrono::milliseconds> lasts{};  // how long it must show before it counts
  std::optional<uint64_t> limit{};
  std::string_view limit_unit{};  // "errors a minute"
};

// "Xid79", or the name.
std::string NameOf(const Rule& rule);
// One sentence for people: "XID 79: … .".
std::string MessageOf(const Rule& rule);

// For any code; codes that are not in the table get the rule for unknown codes, a fault.
Rule RuleOfXid(uint64_t xid);
// Null: no such rule. Does not find XIDs.
const Rule* FindNamedRule(std::string_view name);
// Finds rules of both kinds. Nothing for an invalid name; "Xid9999" is valid.
std::optional<Rule> FindRule(std::string_view name);

// Every row: XIDs by number, then the others by name.
std::vector<Rule> AllRules();

}  // namespace kgpu::health
