// The rules of health as people read them.
#pragma once

#include <boost/json/value.hpp>

#include <string>

#include "src/gpu/health/settings.h"

namespace kgpu::report {

// Every rule as `settings` make it. Rules that say the same of several XIDs stand together.
std::string RulesTable(const health::Settings& settings);
// For docs/reference/health.md.
std::string RulesMarkdown(const health::Settings& settings);
// One for each rule: "rules": [{"rule", "class", "action", "unhealthy", …}].
boost::json::value RulesJson(const health::Settings& settings);

}  // namespace kgpu::report
