// The health rules for people.
#pragma once

#include <boost/json/value.hpp>

#include <string>

#include "src/gpu/health/settings.h"

namespace kgpu::report {

// Every rule with `settings` applied. XIDs with the same meaning share a row.
std::string RulesTable(const health::Settings& settings);
// For docs/reference/health.md.
std::string RulesMarkdown(const health::Settings& settings);
// One for each rule: "rules": [{"rule", "class", "action", "unhealthy", …}].
boost::json::value RulesJson(const health::Settings& settings);

}  // namespace kgpu::report
