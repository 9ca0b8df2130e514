#include "src/node/config/health_reader.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/gpu/health/rule_table.h"
#include "src/node/config/labels_reader.h"
#include "src/platform/base/duration.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::config {
namespace {

namespace json = boost::json;

using health::Action;
using health::Rule;
using health::RuleSetting;

constexpr std::array<std::string_view, 5> kHealthKeys = {"holdDown", "flapLimit", "kernelLog",
                                                         "every", "rules"};
constexpr std::array<std::string_view, 2> kFlapKeys = {"times", "within"};
constexpr std::array<std::string_view, 4> kRuleKeys = {"action", "unhealthy", "lasts", "limit"};
constexpr std::array kActionWords = {
    Word<Action>{"ignore", Action::kIgnore}, Word<Action>{"restart-app", Action::kRestartApp},
    Word<Action>{"drain", Action::kDrain},   Word<Action>{"reset-gpu", Action::kResetGpu},
    Word<Action>{"reboot", Action::kReboot}, Word<Action>{"inspect", Action::kInspect},
};

// A round of measurements takes some milliseconds.
constexpr std::chrono::seconds kLeastPollTime{1};
constexpr uint64_t kMostTimes = 1'000;
constexpr uint64_t kMostLimit = 1'000'000'000;

// What the word itself says: whether its fix leaves the device in use.
bool IsUnhealthy(Action action) {
  return action != Action::kIgnore && action != Action::kRestartApp;
}

void ReadPollTime(const Node& node, Problems& problems, std::chrono::milliseconds& out) {
  const auto every = ReadDuration(node, problems);
  if (every && *every != std::chrono::milliseconds(0) && *every < kLeastPollTime) {
    node.Error("{} is too short: the minimum is 1s; 0 disables it", node.Shown());
  } else {
    Set(out, every);
  }
}

// The rule of a name; one for "Xid*" and "*" that has no thresholds; nothing for others.
std::optional<Rule> RuleFor(std::string_view name) {
  return name == "*" || name == "Xid*" ? Rule{.name = name} : health::FindRule(name);
}

// The name of the rule at the end of `node`'s path is not one.
void ReportUnknown(const Node& node, std::string_view name) {
  std::vector<std::string> names = {"*", "Xid*"};
  for (const Rule& rule : health::AllRules()) {
    names.push_back(NameOf(rule));
  }
  const std::vector<std::string_view> views(names.begin(), names.end());
  const auto nearest = Nearest(name, views);
  node.KeyError("unknown rule{}: \"kgpu health rules\" lists all rules",
                nearest ? fmt::format(", did you mean \"{}\"?", *nearest) : std::string());
}

void ReadRuleField(std::string_view name, const Node& field, const Rule& rule, Problems& problems,
                   RuleSetting& setting) {
  if (name == "action") {
    setting.action = field.OneOf<Action>(kActionWords);
  } else if (name == "unhealthy") {
    setting.is_unhealthy = field.Bool();
  } else if (name == "lasts") {
    if (!rule.is_standing) {
      field.KeyError("the rule has no duration: it applies to each event");
    } else {
      setting.lasts = ReadDuration(field, problems);
    }
  } else if (!rule.limit) {
    field.KeyError("the rule has no limit");
  } else {
    setting.limit = field.Number(0, kMostLimit);
  }
}

void ReadRule(const Node& node, std::string_view name, Problems& problems, HealthConfig& health) {
  const auto rule = RuleFor(name);
  if (!rule) {
    return ReportUnknown(node, name);
  }
  RuleSetting setting;
  if (node.is_map()) {
    node.ForEachField(kRuleKeys, [&](std::string_view key, const Node& field) {
      ReadRuleField(key, field, *rule, problems, setting);
    });
    if (node.size() == 0) {
      node.Error("is empty: set what to change");
    }
  } else if (const auto action = node.OneOf<Action>(kActionWords)) {
    setting = {.action = *action, .is_unhealthy = IsUnhealthy(*action)};
  }
  health.rules[std::string(name)] = setting;
}

json::value SettingTree(const RuleSetting& setting) {
  const auto word = [](Action action) { return json::value(doc::View(ToString(action))); };
  const bool is_word = setting.action && setting.is_unhealthy == IsUnhealthy(*setting.action) &&
                       !setting.lasts && !setting.limit;
  if (is_word) {
    return word(*setting.action);
  }
  json::object fields;
  if (setting.action) {
    fields["action"] = word(*setting.action);
  }
  if (setting.is_unhealthy) {
    fields["unhealthy"] = *setting.is_unhealthy;
  }
  if (setting.lasts) {
    fields["lasts"] = FormatDuration(*setting.lasts);
  }
  if (setting.limit) {
    fields["limit"] = *setting.limit;
  }
  return fields;
}

}  // namespace

void ReadHealth(const Node& node, Problems& problems, HealthConfig& health) {
  node.ForEachField(kHealthKeys, [&](std::string_view name, const Node& field) {
    if (name == "holdDown") {
      Set(health.hold_down, ReadDuration(field, problems));
    } else if (name == "flapLimit") {
      field.ForEachField(kFlapKeys, [&](std::string_view key, const Node& item) {
        if (key == "times") {
          if (const auto times = item.Number(0, kMostTimes)) {
            health.flap_limit.times = static_cast<unsigned>(*times);
          }
        } else {
          Set(health.flap_limit.within, ReadDuration(item, problems));
        }
      });
    } else if (name == "kernelLog") {
      Set(health.kernel_log, field.Bool());
    } else if (name == "every") {
      ReadPollTime(field, problems, health.every);
    } else {
      field.ForAnyField(
          [&](std::string_view rule, const Node& item) { ReadRule(item, rule, problems, health); });
    }
  });
}

json::object HealthTree(const HealthConfig& health) {
  json::object fields{
      {"holdDown", FormatDuration(health.hold_down)},
      {"flapLimit",
       {{"times", health.flap_limit.times}, {"within", FormatDuration(health.flap_limit.within)}}},
      {"kernelLog", health.kernel_log},
      {"every", FormatDuration(health.every)}};
  if (!health.rules.empty()) {
    json::object& rules = fields["rules"].emplace_object();
    for (const auto& [name, setting] : health.rules) {
      rules[name] = SettingTree(setting);
    }
  }
  return fields;
}

}  // namespace kgpu::config
