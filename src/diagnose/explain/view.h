// A report for people and programs. Pure functions.
#pragma once

#include <boost/json/fwd.hpp>

#include <cstddef>
#include <string>

#include "src/diagnose/explain/explain.h"

namespace kgpu::explain {

// The verdict, the pod's own reasons, then the best matching nodes, each reason with its fix; for
// nodes beyond `max_nodes` (SIZE_MAX: all; fewer if the pod itself is wrong) only their number for
// each reason.
std::string ReportText(const Report& report, size_t max_nodes, bool has_color = false);
// Field names are part of the interface: docs/reference/explain.md.
boost::json::value ReportJson(const Report& report);

}  // namespace kgpu::explain
