#include "src/gpu/health/judge.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

namespace kgpu::health {
namespace {

const RuleSetting* FindSetting(const Settings& settings, std::string_view name) {
  const auto found = settings.rules.find(name);
  return found == settings.rules.end() ? nullptr : &found->second;
}

const RuleSetting* SettingOf(const Settings& settings, const Rule& rule) {
  if (settings.rules.empty()) {
    return nullptr;
  }
  std::array<char, 32> buffer{};
  std::string_view name = rule.name;
  if (rule.xid) {
    const auto end = fmt::format_to_n(buffer.data(), buffer.size(), "Xid{}", *rule.xid);
    name = {buffer.data(), end.size};
  }
  if (const RuleSetting* own = FindSetting(settings, name)) {
    return own;
  }
  if (rule.xid) {
    if (const RuleSetting* xids = FindSetting(settings, "Xid*")) {
      return xids;
    }
  }
  return rule.is_certain ? nullptr : FindSetting(settings, "*");
}

}  // namespace

Rule Judge(const Settings& settings, Rule rule) {
  const RuleSetting* setting = SettingOf(settings, rule);
  if (setting == nullptr) {
    return rule;
  }
  rule.action = setting->action.value_or(rule.action);
  rule.is_unhealthy = setting->is_unhealthy.value_or(rule.is_unhealthy);
  if (setting->lasts) {
    rule.lasts = setting->lasts;
  }
  if (setting->limit) {
    rule.limit = setting->limit;
  }
  return rule;
}

bool IsWaived(const Settings& settings, const Rule& rule) {
  const RuleSetting* setting = SettingOf(settings, rule);
  return setting != nullptr && setting->is_unhealthy == false;
}

}  // namespace kgpu::health
