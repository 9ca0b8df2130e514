// Prints findings.
#pragma once

#include <boost/json/fwd.hpp>

#include <span>
#include <string>
#include <vector>

#include "src/diagnose/manifest/manifest.h"

namespace kgpu::manifest {

std::vector<report::Finding> FindingsOf(std::span<const Match> matches);

std::string ReportsText(std::span<const Report> reports, bool has_color = false);
// Field names are part of the interface: docs/reference/doctor-manifest.md.
boost::json::value ReportsJson(std::span<const Report> reports);

// The table of docs/reference/doctor-manifest.md.
std::string RulesMarkdown();

}  // namespace kgpu::manifest
