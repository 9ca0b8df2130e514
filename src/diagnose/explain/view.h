// A report as people and programs read it. Pure.
#pragma once

#include <boost/json/fwd.hpp>

#include <cstddef>
#include <string>

#include "src/diagnose/explain/explain.h"

namespace kgpu::explain {

// The verdict, the pod's own, then the nearest nodes, each reason with its fix; of nodes past
// `max_nodes` (SIZE_MAX: all; fewer where the pod itself is wrong) only how many there are for each
// reason.
std::string ReportText(const Report& report, size_t max_nodes, bool has_color = false);
// Field names are part of the interface: docs/reference/explain.md.
boost::json::value ReportJson(const Report& report);

}  // namespace kgpu::explain
