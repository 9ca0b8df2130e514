// What was done to bring a node up or down, for people and programs.
#pragma once

#include <boost/json/fwd.hpp>

#include <string>

#include "src/setup/bringup/bringup.h"

namespace kgpu::bringup {

// One row per stage, then what a dry run would do.
std::string ReportText(const Report& report);
// A list of objects: id, state, text, wouldDo (lines; dry run only).
boost::json::value ReportJson(const Report& report);

}  // namespace kgpu::bringup
