// What every sign means unless an admin says otherwise: one row a rule, as data.
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
  std::string_view name{};        // of any other
  FaultClass fault_class = FaultClass::kOther;
  Action action = Action::kIgnore;
  bool is_unhealthy = false;  // devices are not handed out while it lasts
  // What happened and what fixes it: "…: …", without a capital and a full stop.
  std::string_view text{};
  // It lasts as long as it can be measured; otherwise it happens, and hold-down does the rest.
  bool is_standing = false;
  // The device does not answer, or cannot be used at all: only an entry of its own changes that,
  // no "*".
  bool is_certain = false;
  std::optional<std::chrono::milliseconds> lasts{};  // how long it must be seen before it counts
  std::optional<uint64_t> limit{};
  std::string_view limit_unit{};  // "errors a minute"
};

// "Xid79", or the name.
std::string NameOf(const Rule& rule);
// One sentence for people: "XID 79: … .".
std::string MessageOf(const Rule& rule);

// Of any code; one that is not in the table gets the rule of unknown codes, a fault.
Rule RuleOfXid(uint64_t xid);
// Null: no such rule. XIDs are not found here.
const Rule* FindNamedRule(std::string_view name);
// Of either kind. Nothing for a name that is none; "Xid9999" is one.
std::optional<Rule> FindRule(std::string_view name);

// Every row: XIDs by number, then the others by name.
std::vector<Rule> AllRules();

}  // namespace kgpu::health
