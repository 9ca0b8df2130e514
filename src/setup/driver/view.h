// A plan and a host, for people and programs.
#pragma once

#include <boost/json/fwd.hpp>

#include <string>

#include "src/setup/driver/host_facts.h"
#include "src/setup/driver/plan.h"

namespace kgpu::driver {

// A command as one would type it in a shell.
std::string CommandText(const Command& command);
// What a step does, one line each: commands as they are run, files with their text.
std::vector<std::string> ActionLines(const Action& action);

// Every line that is no command starts with "#"; each step names its documentation page.
std::string PlanText(const Plan& plan);
boost::json::object PlanJson(const Plan& plan);

// `kgpu driver status`.
std::string StatusText(const HostFacts& facts);
boost::json::object StatusJson(const HostFacts& facts);

}  // namespace kgpu::driver
