// Reports as text for people and as JSON.
#pragma once

#include <boost/json/fwd.hpp>

#include <span>
#include <string>

#include "src/diagnose/validate/report.h"

namespace kgpu::validate {

// The lines of CUDA's vectorAdd sample, as far as the run got, then the measurements.
std::string Text(const Report& report);

boost::json::value Json(std::span<const Report> reports);

// The fix; empty if nothing is wrong, or if the reason already says it.
std::string Advice(const Report& report);

}  // namespace kgpu::validate
