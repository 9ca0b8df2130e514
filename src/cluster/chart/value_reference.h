// The chart's values for people: what each accepts, and its default.
#pragma once

#include <boost/json/fwd.hpp>

#include <string>
#include <vector>

#include "src/platform/base/status.h"

namespace kgpu::chart {

struct ValueEntry {
  std::string name;      // "agent.kubeletDir"
  std::string accepts;   // "text", "Always, IfNotPresent or Never"
  std::string standard;  // the default as JSON
  std::string description;
};

// In the schema's order. Errors: Internal.
StatusOr<std::vector<ValueEntry>> ValueEntries();

std::string ValuesTable(const std::vector<ValueEntry>& entries);
std::string ValuesMarkdown(const std::vector<ValueEntry>& entries);
boost::json::value ValuesJson(const std::vector<ValueEntry>& entries);

}  // namespace kgpu::chart
