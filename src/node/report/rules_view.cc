#include "src/node/report/rules_view.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <vector>

#include "src/gpu/health/judge.h"
#include "src/gpu/health/rule_table.h"
#include "src/node/report/table.h"
#include "src/platform/base/duration.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::report {
namespace {

namespace json = boost::json;

using doc::View;
using health::Rule;

std::vector<Rule> JudgedRules(const health::Settings& settings) {
  std::vector<Rule> rules = health::AllRules();
  for (Rule& rule : rules) {
    rule = health::Judge(settings, rule);
  }
  return rules;
}

// XIDs from the first to the last that say the same.
struct Row {
  Rule rule;
  std::string names;  // "Xid99 to Xid105"
};

bool SayTheSame(const Rule& a, const Rule& b) {
  return a.xid && b.xid && *a.xid + 1 == *b.xid && a.text == b.text && a.action == b.action &&
         a.fault_class == b.fault_class && a.is_unhealthy == b.is_unhealthy;
}

std::vector<Row> Rows(const health::Settings& settings) {
  const std::vector<Rule> rules = JudgedRules(settings);
  std::vector<Row> rows;
  for (size_t first = 0; first < rules.size();) {
    size_t last = first;
    while (last + 1 < rules.size() && SayTheSame(rules[last], rules[last + 1])) {
      ++last;
    }
    const std::string name = NameOf(rules[first]);
    rows.push_back(
        {rules[first], first == last ? name : fmt::format("{} to {}", name, NameOf(rules[last]))});
    first = last + 1;
  }
  return rows;
}

// "60 pages, 1m", "": what a measured rule takes to count.
std::string Threshold(const Rule& rule) {
  std::string text;
  if (rule.limit) {
    text = fmt::format("{} {}", *rule.limit, rule.limit_unit);
  }
  if (rule.lasts) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", FormatDuration(*rule.lasts));
  }
  return text;
}

std::string_view Verdict(const Rule& rule) {
  if (rule.is_unhealthy) {
    return "unhealthy";
  }
  if (rule.action == health::Action::kIgnore) {
    return "counted";
  }
  return rule.is_standing ? "warning" : "reported";
}

}  // namespace

std::string RulesTable(const health::Settings& settings) {
  Table table({"RULE", "CLASS", "DEVICE", "FIX", "FROM", "MEANING"});
  for (const Row& row : Rows(settings)) {
    table.AddRow({row.names, std::string(ToString(row.rule.fault_class)),
                  std::string(Verdict(row.rule)), std::string(ToString(row.rule.action)),
                  Threshold(row.rule), std::string(row.rule.text)});
  }
  return table.Render();
}

std::string RulesMarkdown(const health::Settings& settings) {
  std::string text =
      "| Rule | Class | Device | Fix | From | Meaning |\n"
      "|---|---|---|---|---|---|\n";
  for (const Row& row : Rows(settings)) {
    text += fmt::format("| {} | {} | {} | {} | {} | {} |\n", row.names,
                        ToString(row.rule.fault_class), Verdict(row.rule),
                        ToString(row.rule.action), Threshold(row.rule), row.rule.text);
  }
  return text;
}

json::value RulesJson(const health::Settings& settings) {
  json::array rules;
  for (const Rule& rule : JudgedRules(settings)) {
    json::object entry{{"rule", NameOf(rule)},
                       {"class", View(ToString(rule.fault_class))},
                       {"action", View(ToString(rule.action))},
                       {"unhealthy", rule.is_unhealthy},
                       {"measured", rule.is_standing},
                       {"message", MessageOf(rule)}};
    if (rule.xid) {
      entry["xid"] = *rule.xid;
    }
    if (rule.limit) {
      entry["limit"] = *rule.limit;
      entry["limitUnit"] = View(rule.limit_unit);
    }
    if (rule.lasts) {
      entry["lasts"] = FormatDuration(*rule.lasts);
    }
    rules.push_back(std::move(entry));
  }
  return json::object{{"rules", std::move(rules)}};
}

}  // namespace kgpu::report
