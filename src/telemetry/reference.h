// What every series is, for people: printed by `kgpu metrics list`, and part of docs/metrics.md.
#pragma once

#include <boost/json/fwd.hpp>

#include <string>

#include "src/telemetry/name_sets.h"

namespace kgpu::telemetry {

std::string ReferenceTable(NameSets names);
boost::json::value ReferenceJson(NameSets names);
// A heading and a table for each group.
std::string ReferenceMarkdown(NameSets names);

}  // namespace kgpu::telemetry
