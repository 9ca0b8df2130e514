// Describes every series, for people: printed by `kgpu metrics list`, and part of
// docs/reference/metrics.md.
#pragma once

#include <boost/json/fwd.hpp>

#include <string>
#include <vector>

#include "src/node/telemetry/name_sets.h"

namespace kgpu::telemetry {

std::string ReferenceTable(NameSets names);
boost::json::value ReferenceJson(NameSets names);
// A heading and a table per group.
std::string ReferenceMarkdown(NameSets names);

// The patterns that match no series that can be left out; see FitsPattern.
std::vector<std::string> PatternsOfNothing(const std::vector<std::string>& patterns);

}  // namespace kgpu::telemetry
