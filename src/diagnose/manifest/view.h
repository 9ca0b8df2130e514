// How findings are shown.
#pragma once

#include <boost/json/fwd.hpp>

#include <span>
#include <string>

#include "src/diagnose/manifest/manifest.h"

namespace kgpu::manifest {

std::string ReportsText(std::span<const Report> reports);
boost::json::value ReportsJson(std::span<const Report> reports);

// The table of docs/doctor-manifest.md.
std::string RulesMarkdown();

// Whether there is nothing but remarks.
bool IsGood(std::span<const Report> reports);

}  // namespace kgpu::manifest
