#include "src/node/config/health_switches.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "src/gpu/health/rule_table.h"
#include "src/platform/base/strings.h"

namespace kgpu::config {
namespace {

constexpr std::string_view kDisable = "DP_DISABLE_HEALTHCHECKS";
constexpr std::string_view kEnable = "DP_ENABLE_HEALTHCHECKS";
constexpr std::string_view kEveryXid = "Xid*";
constexpr std::string_view kEveryRule = "*";
// GKE's plugin always has it in its list, whatever the configuration says.
constexpr uint64_t kAlwaysCritical = 48;
constexpr uint64_t kMostXid = 999'999'999;

std::optional<std::string_view> Find(std::span<const std::string> environment,
                                     std::string_view name) {
  for (const std::string_view entry : environment) {
    if (entry.starts_with(name) && entry.substr(name.size()).starts_with('=')) {
      return Trim(entry.substr(name.size() + 1));
    }
  }
  return std::nullopt;
}

void SetVerdict(HealthConfig& health, std::string_view rule, bool is_unhealthy) {
  health.rules[std::string(rule)].is_unhealthy = is_unhealthy;
}

std::optional<uint64_t> ParseXid(std::string_view word) {
  const auto xid = ParseUint(word);
  return xid && *xid > 0 && *xid <= kMostXid ? xid : std::nullopt;
}

// Calls `take` for each word of "a, b"; rejected words are noted.
template <typename Take>
void ForEachWord(std::string_view variable, std::string_view list, std::vector<std::string>& notes,
                 Take take) {
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    const std::string_view word = Trim(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
    if (!word.empty() && !take(word)) {
      notes.push_back(
          fmt::format("{}: \"{}\" is not an XID: ignored", variable, Printable(word, 40)));
    }
  }
}

// The words are about every rule, also about those that have an entry.
void SetEntries(HealthConfig& health, bool are_xids_only, bool is_unhealthy) {
  for (auto& [name, setting] : health.rules) {
    const auto rule = health::FindRule(name);
    if (rule && (rule->xid || (!are_xids_only && !rule->is_certain))) {
      setting.is_unhealthy = is_unhealthy;
    }
  }
}

bool TakeSwitch(std::string_view word, bool is_unhealthy, HealthConfig& health) {
  const std::string lower = ToLower(word);
  if (lower == "all" || lower == "xids") {
    SetEntries(health, lower == "xids" || is_unhealthy, is_unhealthy);
    SetVerdict(health, kEveryXid, is_unhealthy);
    if (is_unhealthy) {
      health.rules.erase(std::string(kEveryRule));
    } else if (lower == "all") {
      SetVerdict(health, kEveryRule, false);
    }
    return true;
  }
  const auto xid = ParseXid(word);
  if (xid) {
    SetVerdict(health, fmt::format("Xid{}", *xid), is_unhealthy);
  }
  return xid.has_value();
}

bool HasWord(std::string_view list, std::string_view wanted) {
  bool has_word = false;
  std::vector<std::string> notes;
  ForEachWord("", list, notes, [&](std::string_view word) {
    has_word |= ToLower(word) == wanted;
    return true;
  });
  return has_word;
}

}  // namespace

void SetCriticalXids(std::span<const uint64_t> xids, HealthConfig& health) {
  SetVerdict(health, kEveryXid, false);
  SetVerdict(health, fmt::format("Xid{}", kAlwaysCritical), true);
  for (const uint64_t xid : xids) {
    SetVerdict(health, fmt::format("Xid{}", xid), true);
  }
}

std::vector<std::string> ApplyHealthSwitches(std::span<const std::string> environment,
                                             HealthConfig& health) {
  std::vector<std::string> notes;
  if (const auto list = Find(environment, "XID_CONFIG"); list && !list->empty()) {
    std::vector<uint64_t> xids;
    ForEachWord("XID_CONFIG", *list, notes, [&xids](std::string_view word) {
      const auto xid = ParseXid(word);
      if (xid) {
        xids.push_back(*xid);
      }
      return xid.has_value();
    });
    SetCriticalXids(xids, health);
    notes.push_back(
        fmt::format("XID_CONFIG={}: only these XIDs and 48 make a device unhealthy", *list));
  }
  // Enabled wins: if it contains "all", the other list is ignored.
  const bool is_all_enabled = HasWord(Find(environment, kEnable).value_or(""), "all");
  for (const auto& [name, is_unhealthy] : {std::pair<std::string_view, bool>{kDisable, false},
                                           std::pair<std::string_view, bool>{kEnable, true}}) {
    const auto list = Find(environment, name);
    if (!list || list->empty()) {
      continue;
    }
    if (!is_unhealthy && is_all_enabled) {
      notes.push_back(fmt::format("{} is ignored: {} contains \"all\"", name, kEnable));
      continue;
    }
    ForEachWord(name, *list, notes, [&health, value = is_unhealthy](std::string_view word) {
      return TakeSwitch(word, value, health);
    });
    notes.push_back(fmt::format("{}={}: these {} a device unhealthy", name, *list,
                                is_unhealthy ? "make" : "do not make"));
  }
  return notes;
}

}  // namespace kgpu::config
